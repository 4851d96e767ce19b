package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFits: no line of any help is wider than the terminal, but for a word
// that is longer than what is left for it and for commands, which one copies.
func TestHelpFits(t *testing.T) {
	for _, columns := range []string{"80", "100"} {
		var out, errs strings.Builder
		environment := []string{"COLUMNS=" + columns}
		for _, command := range []string{"", "census", "explain", "report", "rules", "audit", "completion"} {
			out.Reset()
			args := append(strings.Fields(command), "--help")
			if code := Main(args, strings.NewReader(""), &out, &errs, environment); code != 0 {
				t.Fatalf("%s --help: %d %s", command, code, &errs)
			}
			if !strings.Contains(out.String(), "Usage:") {
				t.Errorf("%s: no help", command)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); (columns == "80" && n > 80 || n > 100) && !strings.HasPrefix(line, "  reach ") {
					t.Errorf("%s: %d columns: %s", command, n, line)
				}
			}
		}
	}
}

func TestWrapped(t *testing.T) {
	long := "  left  " + strings.TrimSpace(strings.Repeat("syscall.Read ", 12))
	got := wrapped("short\n"+long+"\n", 60)
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields("short "+long), " ") {
		t.Errorf("words are lost: %q", got)
	}
	for line := range strings.Lines(got) {
		if len(line) > 61 {
			t.Errorf("too wide: %q", line)
		}
	}
	if wrapped(long+"\n", 0) != long+"\n" {
		t.Error("a program gets other lines than were written")
	}
}

// TestRulesFit: at 80 columns a rule takes two lines, for a program one.
func TestRulesFit(t *testing.T) {
	run := func(environment ...string) []string {
		var out, errs strings.Builder
		if code := Main([]string{"rules"}, strings.NewReader(""), &out, &errs, environment); code != 0 {
			t.Fatal(errs.String())
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	program, terminal := run(), run("COLUMNS=80")
	if len(terminal) != 2*len(program)+2 {
		t.Errorf("%d lines for a terminal, %d for a program", len(terminal), len(program))
	}
	for _, line := range terminal {
		if len(line) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
}
