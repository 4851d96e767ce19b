package stream

import (
	"strings"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Words calls f with what a message says in the repository's own words: elements
// of the paths of files and directories, namespaces and names. Sentences for
// people and the names of clusters are none. The same word comes again and again.
func Words(m *reachv1.CensusResponse, f func(string)) {
	switch e := m.GetEvent().(type) {
	case *reachv1.CensusResponse_Sync:
		elements(e.Sync.GetPath(), f)
		elements(e.Sync.GetDirectory(), f)
		elements(e.Sync.GetSource(), f)
		f(e.Sync.GetNamespace())
		f(e.Sync.GetName())
	case *reachv1.CensusResponse_Release:
		f(e.Release.GetNamespace())
		f(e.Release.GetName())
		f(e.Release.GetReleaseName())
		f(e.Release.GetReleaseNamespace())
		f(e.Release.GetStorageNamespace())
	case *reachv1.CensusResponse_Object:
		f(e.Object.GetNamespace())
		f(e.Object.GetName())
	case *reachv1.CensusResponse_Live:
		f(e.Live.GetNamespace())
		f(e.Live.GetName())
	case *reachv1.CensusResponse_File:
		elements(e.File.GetPath(), f)
	case *reachv1.CensusResponse_Finding:
		f(e.Finding.GetNamespace())
		f(e.Finding.GetName())
		f(e.Finding.GetVar())
	case *reachv1.CensusResponse_Summary:
		for _, cluster := range e.Summary.GetClusters() {
			f(cluster.GetKubeconfig())
			for _, r := range cluster.GetReferences() {
				f(r.GetKubeconfig())
			}
		}
	}
}

func elements(path string, f func(string)) {
	for element := range strings.SplitSeq(path, "/") {
		f(element)
	}
}
