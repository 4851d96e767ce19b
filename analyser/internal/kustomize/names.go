package kustomize

import (
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
)

// IsKustomizationFile reports whether a file of this name, without its
// directory, is read as a kustomization file.
func IsKustomizationFile(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}
