package main

import (
	"os"
	"regexp"
	"testing"
)

// TestMutations breaks one golden census in a few ways. Then it breaks it for
// the oracle alone, which must show.
func TestMutations(t *testing.T) {
	b, err := newBench("../..", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	subjects, err := b.subjects("no corpus", regexp.MustCompile("^class_local$"))
	if err != nil || len(subjects) != 1 {
		t.Fatal(subjects, err)
	}
	s, sums := subjects[0], newTable(20)
	const n = 10
	if err := b.mutate(s, sums, n, 1); err != nil {
		t.Fatal(err)
	}
	for _, l := range sums.lines {
		if l.bad() || l.agree == 0 || l.bothFail == 0 {
			t.Errorf("%s: %+v", l.oracle, l.tally)
		}
	}

	req := s.request
	req.AllPlain, req.Files = true, true
	base, err := b.builds(&req)
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.newWork(s)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	m, again := newMutator(base, w, 1, s.name), newMutator(base, w, 1, s.name)
	plain, syncs := newTally(), newTally()
	for i := range n {
		what, changes := m.change(i)
		if same, _ := again.change(i); same != what {
			t.Errorf("the seed gives %q and %q", what, same)
		}
		if err := w.apply(changes); err != nil {
			t.Fatal(err)
		}
		for _, p := range base.Plain {
			w.plain(&p, plain)
		}
		if err := w.syncs(base, syncs, m.reached(base, changes)); err == nil && len(m.reached(base, changes)) == 0 {
			t.Logf("%q reaches nothing", what)
		}
		if err := w.undo(); err != nil {
			t.Fatal(err)
		}
	}
	if !plain.bad() || !syncs.bad() {
		t.Errorf("the analyser did not see the changes, and nobody noticed: %+v %+v", plain, syncs)
	}
	clean := newTally()
	for _, p := range base.Plain {
		w.plain(&p, clean)
	}
	if clean.bad() {
		t.Errorf("undo leaves a change: %+v", clean)
	}
}

// TestOverlays builds a golden census by a few random Kustomizations.
func TestOverlays(t *testing.T) {
	b, err := newBench("../..", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	subjects, err := b.subjects("no corpus", regexp.MustCompile("^class_local$"))
	if err != nil || len(subjects) != 1 {
		t.Fatal(subjects, err)
	}
	sums := newTable(20)
	if err := b.overlay(subjects[0], sums, 25, 1); err != nil {
		t.Fatal(err)
	}
	for _, l := range sums.lines {
		if l.bad() || l.agree == 0 || l.bothFail == 0 {
			t.Errorf("%s: %+v", l.oracle, l.tally)
		}
	}
}
