// Package policy reads the firewall's rules. A rule is one line of a text file
// and carries its own reason, so that the rules can be reviewed without
// reading code:
//
//	verb field... key=value... -- reason
//
// Fields are separated by white space. Everything after " -- " is the reason,
// which must not be empty. Blank lines and lines that begin with "#" are
// comments. What verbs there are is up to the package that asks.
package policy

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Line is one rule.
type Line struct {
	// File and Number say where the rule stands.
	File   string
	Number int
	// Verb is the first field; Fields are those after it without key=value
	// pairs, which are in Options.
	Verb    string
	Fields  []string
	Options map[string]string
	Reason  string
}

// Errorf is an error about this line.
func (l Line) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.File, l.Number, fmt.Sprintf(format, args...))
}

var option = regexp.MustCompile(`^([a-z]+)=(.*)$`)

// Verb describes what a line with a verb must look like.
type Verb struct {
	// Fields is how many fields follow the verb.
	Fields int
	// Options are the keys that may occur.
	Options []string
}

// Parse reads rules in the order of the file. A line with an unknown verb, a
// missing reason, the wrong number of fields or an unknown option is an error:
// a rule that is not understood must not look like a rule that holds.
func Parse(file string, r io.Reader, verbs map[string]Verb) ([]Line, error) {
	var lines []Line
	scan := bufio.NewScanner(r)
	for number := 1; scan.Scan(); number++ {
		text := strings.TrimSpace(scan.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		rule, reason, _ := strings.Cut(text, " -- ")
		l := Line{File: file, Number: number, Options: map[string]string{}, Reason: strings.TrimSpace(reason)}
		if l.Reason == "" {
			return nil, l.Errorf("no reason; write it after \" -- \"")
		}
		for i, f := range strings.Fields(rule) {
			if i == 0 {
				l.Verb = f
			} else if m := option.FindStringSubmatch(f); m != nil {
				if _, twice := l.Options[m[1]]; twice {
					return nil, l.Errorf("option %s occurs twice", m[1])
				}
				l.Options[m[1]] = m[2]
			} else {
				l.Fields = append(l.Fields, f)
			}
		}
		if err := l.check(verbs); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return lines, nil
}

func (l Line) check(verbs map[string]Verb) error {
	v, ok := verbs[l.Verb]
	if !ok {
		return l.Errorf("unknown verb %q", l.Verb)
	}
	if len(l.Fields) != v.Fields {
		return l.Errorf("%s takes %d fields, not %d", l.Verb, v.Fields, len(l.Fields))
	}
	for key := range l.Options {
		known := false
		for _, k := range v.Options {
			known = known || k == key
		}
		if !known {
			return l.Errorf("%s has no option %q", l.Verb, key)
		}
	}
	return nil
}

// List splits the comma-separated value of an option; nil when it is absent.
func (l Line) List(key string) []string {
	if l.Options[key] == "" {
		return nil
	}
	return strings.Split(l.Options[key], ",")
}

// Pattern is an import path, or one followed by "/..." which stands for the
// path and everything below it, as the go command reads it.
type Pattern string

// Match reports whether an import path matches.
func (p Pattern) Match(path string) bool {
	prefix, below := strings.CutSuffix(string(p), "/...")
	return path == prefix || below && strings.HasPrefix(path, prefix+"/")
}

// Match reports whether any of some patterns matches.
func Match(patterns []string, path string) bool {
	for _, p := range patterns {
		if Pattern(p).Match(path) {
			return true
		}
	}
	return false
}
