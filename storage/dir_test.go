package storage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestForeignDirectoriesAreLeftAlone opens directories that are not ours, or
// are too new, or have lost a file: each is refused with its reason, and not
// a byte of it changes.
func TestForeignDirectoriesAreLeftAlone(t *testing.T) {
	cases := []struct {
		name, want string
		files      map[string]string
	}{
		{"another program's", "is not a dedupd data directory", map[string]string{"dump.rdb": "REDIS0011"}},
		{"a Pebble v1 store", "is not a dedupd data directory", map[string]string{"CURRENT": "MANIFEST-000001\n", "OPTIONS-000003": "[Version]"}},
		{"a log without FORMAT", "is not a dedupd data directory", map[string]string{"SECRET": strings.Repeat("0", 32), "log": "x"}},
		{"another FORMAT", "is not a dedupd data directory", map[string]string{"FORMAT": "something else\n"}},
		{"a newer format", "knows formats up to 1", map[string]string{"FORMAT": "dedupd data directory, format 2\n", "SECRET": strings.Repeat("0", 32)}},
		{"a lost secret", "restore it from a backup", map[string]string{"FORMAT": "dedupd data directory, format 1\nsecret 00\n"}},
		{"a damaged secret", "restore it from a backup", map[string]string{"FORMAT": "dedupd data directory, format 1\nsecret 00\n", "SECRET": "12"}},
		{"another secret", "is that of another directory", map[string]string{"FORMAT": "dedupd data directory, format 1\nsecret 00\n", "SECRET": strings.Repeat("0", 32)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			o := testOptions()
			o.FS, o.Dir = vfs.Default, dir
			s, err := Open(context.Background(), o)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
			for name, content := range c.files {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != content {
					t.Errorf("%s is now %q (%v)", name, b, err)
				}
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if _, ours := c.files[e.Name()]; !ours && e.Name() != lockFile {
					t.Errorf("%s was created", e.Name())
				}
			}
		})
	}
}

// TestCreationMayBeCutShort crashes at every state that a creation leaves
// behind; the next start finishes it.
func TestCreationMayBeCutShort(t *testing.T) {
	for _, files := range [][]string{{}, {"LOCK"}, {"LOCK", "SECRET.tmp"}, {"LOCK", "SECRET"}, {"LOCK", "SECRET", "FORMAT.tmp"}} {
		o := testOptions()
		o.FS.MkdirAll(o.Dir, 0o755)
		for _, name := range files {
			f, err := o.FS.Create(o.FS.PathJoin(o.Dir, name), vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if name == secretFile {
				f.Write([]byte(strings.Repeat("0", 32)))
			}
			f.Close()
		}
		s, err := Open(context.Background(), o)
		if err != nil {
			t.Errorf("%v: %v", files, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSecretStays opens a directory twice: the same items are found, so the
// same secret was used; and two directories do not share one.
func TestSecretStays(t *testing.T) {
	o := testOptions()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	other := openTest(t, testOptions())
	if s.secret == other.secret {
		t.Error("two directories have the same secret")
	}
	secret := s.secret
	s.Close()
	again, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.secret != secret {
		t.Error("the secret has changed")
	}
}
