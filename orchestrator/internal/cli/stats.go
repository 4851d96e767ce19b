package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gitops-reach/reach/orchestrator/internal/launch"
	"github.com/gitops-reach/reach/orchestrator/internal/schema"
)

// stats is what one census cost.
type stats struct {
	start time.Time
	// Schema is the $id of the JSON Schema of the file.
	Schema string `json:"$schema"`
	// AnalyserMillis is the time until the analyser had sent everything.
	AnalyserMillis int64 `json:"analyser_ms"`
	// TotalMillis is the time until the report stood on disk.
	TotalMillis int64 `json:"total_ms"`
	// Peaks are the largest resident sets, in bytes; 0 where the system does
	// not say.
	AnalyserPeakBytes int64 `json:"analyser_peak_bytes"`
	ReachPeakBytes    int64 `json:"reach_peak_bytes"`
	// AccessMillis is the time for reading clusters, all together; the rest is what
	// was asked of them and what they answered.
	AccessMillis   int64 `json:"access_ms,omitempty"`
	AccessRequests int64 `json:"access_requests,omitempty"`
	AccessBytes    int64 `json:"access_bytes,omitempty"`
	// PipeBytes is what the analyser sent.
	PipeBytes int64 `json:"pipe_bytes"`
}

// read notes what reading clusters has cost.
func (s *stats) read(a *access) {
	s.AccessMillis = time.Since(s.start).Milliseconds()
	for _, g := range a.grants {
		cost := g.server.Cost()
		s.AccessRequests += cost.Requests
		s.AccessBytes += cost.Bytes
	}
}

// analysed notes what the analyser has cost by now.
func (s *stats) analysed(a analyser) {
	s.AnalyserMillis = time.Since(s.start).Milliseconds()
	if m, ok := a.(interface{ PeakMemory() int64 }); ok {
		s.AnalyserPeakBytes = m.PeakMemory()
	}
	if m, ok := a.(interface{ Received() int64 }); ok {
		s.PipeBytes = m.Received()
	}
}

func (s *stats) write(file string) error {
	s.TotalMillis = time.Since(s.start).Milliseconds()
	s.ReachPeakBytes = launch.ResidentPeak(os.Getpid())
	s.Schema = schema.ID("stats")
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing --stats: %w", err)
	}
	return nil
}
