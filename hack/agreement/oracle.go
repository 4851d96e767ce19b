package main

import (
	"github.com/gitops-reach/reach/hack/oracle/render"
)

// The oracles, which reach oracle shares.
var (
	krustyBuild = render.Kustomize
	fluxBuild   = render.Flux
	errRefused  = render.ErrRefused
)
