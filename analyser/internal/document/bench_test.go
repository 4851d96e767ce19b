package document

import (
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

func corpusSnapshot(b *testing.B) (s *snapshot.Snapshot, size int64) {
	b.Helper()
	files := map[string]string{}
	for path, content := range corpus(b) {
		files[path] = content
		size += int64(len(content))
	}
	return snapshot.FromMap(files), size
}

func BenchmarkRead(b *testing.B) {
	s, size := corpusSnapshot(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(&position.Set{}, Limits{})
		for _, e := range s.Entries() {
			if _, err := r.Read(s, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	s, size := corpusSnapshot(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(&position.Set{}, Limits{})
		for _, e := range s.Entries() {
			if _, _, err := r.Headers(s, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkScan is Headers of plain files alone.
func BenchmarkScan(b *testing.B) {
	s, _ := corpusSnapshot(b)
	r := NewReader(&position.Set{}, Limits{})
	var plain [][]byte
	var size int64
	for _, e := range s.Entries() {
		content := []byte(e.Blob)
		if _, ok := r.scanPlain(content, 1, 1<<30); ok {
			plain, size = append(plain, content), size+int64(len(content))
		}
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, content := range plain {
			r.scanPlain(content, 1, 1<<30)
		}
	}
}
