package main

import (
	"encoding/json"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/gitops-reach/reach/hack/dump"
)

// fluxTime is what hack/bench asks for: how long Flux's own build of each
// Kustomization of a repository takes, one after the other as `flux build
// kustomization --recursive` does it, in one process.
type fluxTime struct {
	// Kustomizations that were built, and how many of these builds failed.
	Kustomizations int `json:"kustomizations"`
	Failing        int `json:"failing"`
	// The time of each run, in microseconds: as a person waits, and of the
	// processor.
	Wall []int64 `json:"wall"`
	CPU  []int64 `json:"cpu"`
}

// time builds each Kustomization of a repository n times and writes a fluxTime.
// Which there are is asked from the analyser; that and laying out artifacts is not
// part of the time, and what equals another build is built all the same, since
// Flux does not know.
func (b *bench) time(s *subject, n int, out io.Writer) error {
	reply, err := b.builds(&s.request)
	if err != nil {
		return err
	}
	if reply.Error != "" {
		return fmt.Errorf("no census: %s", reply.Error)
	}
	w, err := b.newWork(s)
	if err != nil {
		return err
	}
	defer w.close()
	type job struct {
		sync   *dump.Sync
		object json.RawMessage
		dir    string
	}
	var jobs []job
	clusters := configs(reply)
	for i := range reply.Syncs {
		s := &reply.Syncs[i]
		if s.Build < 0 || string(s.Object) == "null" || reply.Views[s.ViewKey].Unknown {
			continue
		}
		_, object := clusters.key(reply, s)
		c, err := w.view(reply, s.ViewKey)
		if err != nil {
			return err
		}
		jobs = append(jobs, job{s, object, c.dir})
	}
	t := fluxTime{Kustomizations: len(jobs)}
	for range n {
		start, used := time.Now(), cpuTime()
		t.Failing = 0
		for _, j := range jobs {
			_, err := fluxBuild(j.object, j.dir, j.sync.Directory, clusters[j.sync.Cluster].client(), reply.Strict[j.sync.Cluster])
			if err != nil {
				t.Failing++
			}
		}
		t.Wall = append(t.Wall, time.Since(start).Microseconds())
		t.CPU = append(t.CPU, (cpuTime() - used).Microseconds())
	}
	return json.NewEncoder(out).Encode(t)
}

// cpuTime is that of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
