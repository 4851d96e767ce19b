package flux

import "github.com/gitops-reach/reach/analyser/internal/controller"

func readResourceSet(r *reader, d *controller.Declared) {}
