package session

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed reads.txt
var readsText string

//go:embed unread.txt
var unreadText string

// Read is something that is read whole.
type Read struct {
	// Group is "" for the core group.
	Group, Resource string
	// Name of the one object that is asked for, "" for a list.
	Name string
	// Selector is the label selector of a list.
	Selector string
	// Reason says what for.
	Reason string
}

// Reads returns all that is read whole, in the order of reads.txt.
func Reads() []Read { return reads }

// Unread returns why a resource is not listed, "" when it is.
func Unread(group, resource string) string {
	if group == "" {
		group = core
	}
	for _, u := range unread {
		if (u.Group == "*" || u.Group == group) && (u.Resource == "*" || u.Resource == resource) {
			return u.Reason
		}
	}
	return ""
}

// core is how the files write the core group.
const core = "core"

var reads, unread = mustReads(readsText), mustUnread(unreadText)

// mustReads parses reads.txt, which is part of the program.
func mustReads(text string) []Read {
	var out []Read
	for line := range rules(text) {
		words, reason, _ := strings.Cut(line, " -- ")
		verb, words, _ := strings.Cut(words, " ")
		what, selector, _ := strings.Cut(words, " ")
		parts := strings.Split(what, "/")
		if reason == "" || !(verb == "list" && len(parts) == 2 || verb == "get" && len(parts) == 3 && selector == "") {
			panic(fmt.Sprintf("reads.txt: %q is neither list GROUP/RESOURCE nor get GROUP/RESOURCE/NAME", line))
		}
		r := Read{Group: parts[0], Resource: parts[1], Selector: strings.TrimSpace(selector), Reason: reason}
		if r.Group == core {
			r.Group = ""
		}
		if verb == "get" {
			r.Name = parts[2]
		}
		out = append(out, r)
	}
	return out
}

func mustUnread(text string) []Read {
	var out []Read
	for line := range rules(text) {
		what, reason, _ := strings.Cut(line, " -- ")
		group, resource, ok := strings.Cut(what, "/")
		if !ok || reason == "" || group == "*" && resource == "*" {
			panic(fmt.Sprintf("unread.txt: %q is not GROUP/RESOURCE -- why", line))
		}
		out = append(out, Read{Group: group, Resource: resource, Reason: reason})
	}
	return out
}

// rules yields the lines of a file that are no comments.
func rules(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}
