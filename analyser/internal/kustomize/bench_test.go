package kustomize

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// cpu returns a function that reports the processor time for each root since:
// unlike elapsed time it does not depend on who else is at work.
func cpu(b *testing.B, roots int) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() {
		b.ReportMetric(float64((used()-start).Microseconds())/float64(b.N*roots), "cpu-µs/root")
	}
}

// BenchmarkCorpus builds every kustomization file of each repository with both,
// from bytes to objects. Ours starts with nothing known each time.
func BenchmarkCorpus(b *testing.B) {
	for _, dir := range corpus(b) {
		view := load(b, dir)
		var targets []string
		for _, root := range roots(view) {
			if build := newBuilder(view).Build(Target{Dir: root}); len(build.External) == 0 {
				targets = append(targets, root)
			}
		}
		schema := usesSchema(view)
		b.Run(filepath.Base(dir)+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			report := cpu(b, len(targets))
			for b.Loop() {
				builder := newBuilder(view)
				for _, root := range targets {
					builder.Build(Target{Dir: root})
				}
			}
			report()
		})
		b.Run(filepath.Base(dir)+"/krusty", func(b *testing.B) {
			b.ReportAllocs()
			report := cpu(b, len(targets))
			for b.Loop() {
				for _, root := range targets {
					if _, err := oracle(&snapshotFS{view: view}, root, schema); err != nil {
						runtime.KeepAlive(err)
					}
				}
			}
			report()
		})
	}
}
