package facts

import (
	"errors"
	"fmt"
	"os"
	"testing"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	for i := range n {
		if err := s.Add(&reachv1.Fact{Cluster: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		i := 0
		err := s.Each(func(f *reachv1.Fact) error {
			if f.GetCluster() != fmt.Sprint(i) {
				t.Fatalf("fact %d is %s", i, f.GetCluster())
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Fatalf("%d facts, %v", i, err)
		}
	}
	stop := errors.New("stop")
	if err := s.Each(func(*reachv1.Fact) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
