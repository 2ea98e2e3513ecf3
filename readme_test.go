package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"dedupd/commands"
)

var updateReadme = flag.Bool("readme.update", false, "write the README's generated parts")

// TestReadmeIsGenerated holds the README's table of commands and its list of
// flags to what the program has.
func TestReadmeIsGenerated(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := string(b)
	want = replacePart(t, want, "commands", commandTable())
	want = replacePart(t, want, "flags", flagList(t))
	if want == string(b) {
		return
	}
	if !*updateReadme {
		t.Fatal("README.md is not what the program has; run: go test . -run TestReadmeIsGenerated -readme.update")
	}
	if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, doc := range commands.Docs() {
		usage := strings.TrimSpace(doc.Name + " " + doc.Syntax)
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(usage, "|", `\|`), doc.Summary)
	}
	return b.String()
}

func flagList(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	none := func(string) string { return "" }
	if _, err := parseConfig([]string{"--help"}, none, &b); err != nil {
		t.Fatal(err)
	}
	return "```\n" + b.String() + "```\n"
}

// replacePart puts text between the part's two markers.
func replacePart(t *testing.T, readme, part, text string) string {
	t.Helper()
	begin, end := "<!-- "+part+" -->\n", "<!-- /"+part+" -->"
	head, rest, ok := strings.Cut(readme, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no part %q", part)
	}
	return head + begin + text + end + tail
}
