package main

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed causes.txt
var causesText string

var causes = readCauses(causesText)

func readCauses(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		code, words, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if ok && !strings.HasPrefix(code, "#") {
			out[code] = strings.Split(words, " | ")
		}
	}
	return out
}

// sameCause reports that an oracle's error says what a code means.
func sameCause(err error, code string) bool {
	return slices.ContainsFunc(causes[code], func(s string) bool { return strings.Contains(err.Error(), s) })
}

// remote reports an error that comes of having no network, git or helm.
func remote(err error) bool {
	return slices.ContainsFunc([]string{
		"127.0.0.1:9", "executable file not found", "no 'git' program", "git program", "helm", "proxyconnect", "URL is a git repository", "trouble configuring builtin HelmChartInflation",
	}, func(s string) bool { return strings.Contains(err.Error(), s) })
}
