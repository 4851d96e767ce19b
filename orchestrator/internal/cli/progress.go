package cli

import (
	"io"

	"github.com/schollz/progressbar/v3"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// progress is a line on a terminal that says how far the analyser is. Its zero
// value shows nothing.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	phase string
	total int64
}

// newProgress shows on w when it is a terminal that can erase a line.
func newProgress(w io.Writer, term string) *progress {
	if f := terminal(w); f != nil && term != "dumb" {
		return &progress{out: f}
	}
	return &progress{}
}

// update shows a message. Errors of the terminal are of no consequence.
func (p *progress) update(m *reachv1.Progress) {
	if p.out == nil || m == nil {
		return
	}
	total := m.GetTotal()
	if total <= 0 {
		total = -1
	}
	if p.bar == nil || m.GetPhase() != p.phase || total != p.total {
		p.clear()
		p.phase, p.total = m.GetPhase(), total
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(phaseName(m)),
			progressbar.OptionShowBytes(m.GetUnit() == "bytes"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(24),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionThrottle(100e6),
		)
	}
	_ = p.bar.Set64(m.GetDone())
}

// phaseName names a phase in words of this program, since the line goes to a
// terminal as it is.
func phaseName(m *reachv1.Progress) string {
	switch phase := m.GetPhase(); phase {
	case "listing", "reading", "building", "placing", "explaining":
		return phase
	}
	return "working"
}

// clear removes the line.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
