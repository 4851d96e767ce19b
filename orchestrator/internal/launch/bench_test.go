//go:build unix

package launch

import (
	"testing"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// BenchmarkStart is the time from nothing to an answered Hello and back.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		a, err := Start(b.Context(), options(b, "none"))
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
}

// BenchmarkStream is a census of 100,000 placements, without anything done to
// make or to use them.
func BenchmarkStream(b *testing.B) {
	n := 0
	for b.Loop() {
		a, err := Start(b.Context(), options(b, "count=100000"))
		if err != nil {
			b.Fatal(err)
		}
		err = a.Census(b.Context(), &reachv1.CensusRequest{}, func(*reachv1.CensusResponse) error { n++; return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}
