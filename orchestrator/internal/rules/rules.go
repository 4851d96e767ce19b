// Package rules is the catalogue of what each rule means to a team: why it
// matters, what follows in which version of Flux, what to do, an example. The
// analyser decides whether a rule holds; nothing here changes a finding.
package rules

import (
	_ "embed"
	"strings"
)

// Rule explains a rule.
type Rule struct {
	// Rule is its name, "reach.flux.path_missing".
	Rule string `json:"rule"`
	// Severity of its findings unless a finding says otherwise.
	Severity string `json:"severity"`
	// Title is a few words, What one sentence.
	Title string `json:"title"`
	What  string `json:"what"`
	Why   string `json:"why"`
	// Consequence says what follows, by version of Flux where it differs.
	Consequence string `json:"consequence"`
	Remedy      string `json:"remedy"`
	// Example is a piece of YAML that the rule would convict; "" for none.
	Example string `json:"example"`
	// Question marks a rule whose result is for people to decide, not a
	// mistake.
	Question bool `json:"question"`
}

// Text is the catalogue as it is written; catalogue.go has what it says, since
// reading it takes two milliseconds, which every census would pay.
//
//go:embed rules.yaml
var Text string

// All lists the catalogue, in its own order. The caller must not change it.
func All() []Rule { return catalogue }

// Find explains a rule. One that the catalogue does not have has what the census
// itself says of it.
func Find(name, doc string) Rule {
	for _, r := range catalogue {
		if r.Rule == name {
			return r
		}
	}
	short := strings.TrimPrefix(name, "reach.")
	return Rule{Rule: name, Title: strings.ReplaceAll(short[strings.LastIndexByte(short, '.')+1:], "_", " "), What: doc}
}
