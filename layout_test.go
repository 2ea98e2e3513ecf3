package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is which of our packages each of them may import, outside tests.
// Data flows one way: bytes, command, hot, wheel, cold.
var mayImport = map[string][]string{
	".":              {"commands", "flusher", "scripts/bench", "server", "storage", "storage/log"},
	"commands":       {"filter", "storage", "storage/log", "storage/policy"},
	"filter":         {},
	"flusher":        {"storage/policy"},
	"scripts/bench":  {},
	"server":         {},
	"storage":        {"filter", "storage/cold", "storage/log", "storage/policy"},
	"storage/cold":   {"filter"},
	"storage/log":    {},
	"storage/policy": {},
}

func TestImportsRunOneWay(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "node_modules" || d.Name() == "data") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		checkImports(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, path string) {
	t.Helper()
	dir := filepath.ToSlash(filepath.Dir(path))
	allowed, known := mayImport[dir]
	if !known {
		t.Errorf("%s: package %s has no row in mayImport", path, dir)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if own, ok := strings.CutPrefix(name, "dedupd/"); ok && !slices.Contains(allowed, own) {
			t.Errorf("%s imports %s; %s may import %v", path, own, dir, allowed)
		}
	}
}
