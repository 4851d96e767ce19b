package census_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/controller/flux"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// BenchmarkTake takes a census of acme-platform and of the corpus, from a
// snapshot in memory: parsing, building and placing, without git and gRPC.
func BenchmarkTake(b *testing.B) {
	bench := func(name string, s *snapshot.Snapshot, req census.Request) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				req.Engines = []controller.Engine{flux.Engine()}
				if _, err := census.Take(b.Context(), s, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "census", "acme-platform.txtar"))
	if err != nil {
		b.Fatal(err)
	}
	bench("acme-platform", snapshot.FromTxtar(txtar.Parse(data), "repo/"), census.Request{})
	for _, name := range corpusNames(b) {
		bench(name, corpus(b, name), census.Request{Roots: declaredRoots[name]})
	}
}
