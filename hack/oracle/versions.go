package main

import (
	"runtime/debug"
	"strings"
)

// versions names the tools that build.
func versions() string {
	var out []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/fluxcd/pkg/kustomize", "sigs.k8s.io/kustomize/api":
				out = append(out, m.Path+" "+m.Version)
			}
		}
	}
	return strings.Join(out, ", ")
}
