package review

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"

	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
	"github.com/gitops-reach/reach/orchestrator/internal/sarif"
)

// Baseline is what an earlier census knew.
type Baseline struct {
	// Format is "report", "jsonl" or "sarif".
	Format string
	// Commit of the earlier census, and whether it was written with "alias" or
	// "real" names; empty where it does not say.
	Commit, Names string
	// findings are the severities by fingerprint.
	findings map[string]string
}

// maxBaseline bounds a baseline in one file: 512 MiB.
const maxBaseline = 512 << 20

var fingerprint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// LoadBaseline reads a report folder, its findings.jsonl alone, or its
// report.sarif. A folder knows most: also what was hidden there is known.
func LoadBaseline(name string) (*Baseline, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	if info.IsDir() {
		b := &Baseline{Format: "report", findings: map[string]string{}}
		if err := report.Replay(name, &collector{b: b}); err != nil {
			return nil, fmt.Errorf("reading the baseline: %w", err)
		}
		return b, nil
	}
	data, large, err := bounded.ReadFile(name, "the baseline", maxBaseline)
	if err != nil {
		return nil, err
	}
	if large {
		return nil, fmt.Errorf("the baseline %s is larger than %d bytes", name, maxBaseline)
	}
	b, line, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s:%d: %w: it is a report folder, its findings.jsonl, or its report.sarif", name, line, err)
	}
	return b, nil
}

// parse reads what a file holds.
func parse(data []byte) (*Baseline, int, error) {
	if commit, names, results, ok := sarif.Read(data); ok {
		b := &Baseline{Format: "sarif", Commit: commit, Names: names, findings: map[string]string{}}
		for _, r := range results {
			if !fingerprint().MatchString(r.Fingerprint) {
				return nil, 1, fmt.Errorf("a result has no fingerprint of reach")
			}
			b.add(r.Fingerprint, r.Severity)
		}
		return b, 0, nil
	}
	b := &Baseline{Format: "jsonl", findings: map[string]string{}}
	in := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) == 0 {
			return b, 0, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, n, err
		}
		var f report.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, n, errors.New("this is no finding")
		}
		if !fingerprint().MatchString(f.Fingerprint) || report.SeverityRank(f.Severity) < 0 {
			return nil, n, errors.New("a finding without fingerprint and severity")
		}
		b.add(f.Fingerprint, f.Severity)
	}
}

func (b *Baseline) add(fingerprint, severity string) {
	b.findings[fingerprint] = severity
}

// knows reports whether a finding was known, and not as something milder: what
// got worse is new.
func (b *Baseline) knows(f *report.Finding) bool {
	if b == nil || f.Rule == Expired {
		return false
	}
	severity, ok := b.findings[f.Fingerprint]
	return ok && report.SeverityRank(f.Severity) <= report.SeverityRank(severity)
}

// gone counts the findings of the baseline that are found no more.
func (b *Baseline) gone(found []*report.Finding) int {
	if b == nil {
		return 0
	}
	left := len(b.findings)
	for _, f := range found {
		if _, ok := b.findings[f.Fingerprint]; ok {
			left--
		}
	}
	return left
}

// collector reads a report folder. Fingerprints are made again where an earlier
// version wrote none.
type collector struct {
	report.Ignore
	b    *Baseline
	made report.Fingerprints
}

func (c *collector) Begin(h *report.Header) error {
	c.b.Commit, c.b.Names = h.Commit, h.Names
	return nil
}

func (c *collector) Finding(f *report.Finding) error {
	made := c.made.Of(f)
	if f.Fingerprint != "" {
		made = f.Fingerprint
	}
	c.b.add(made, f.Severity)
	return nil
}

// Hidden findings were known, too, but for what a suppression hid: when that is
// taken out or expires, the team shall see them again.
func (c *collector) Hidden(h *report.Hidden) error {
	if h.By == byBaseline {
		c.b.add(h.Fingerprint, h.Severity)
	}
	return nil
}
