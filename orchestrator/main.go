// Command reach takes a census of a GitOps platform repository: which file lands
// on which cluster, through which controller, and what could not be told.
package main

import (
	"os"

	"github.com/gitops-reach/reach/orchestrator/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
