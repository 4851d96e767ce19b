package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// trace notes when what was done, in the Chrome trace event format, which
// about:tracing and ui.perfetto.dev show: this process as 1, the analyser as 2.
// What the analyser does is known by its messages, when they arrive: a phase
// begins with its first Progress and ends with the next phase's, so that spans
// are as exact as the pipe is quick. It holds no names of the repository.
//
// A nil trace notes nothing and costs nothing. It is for one goroutine.
type trace struct {
	begin  time.Time
	events []traceEvent
	// What the analyser is at.
	phase    string
	since    time.Time
	messages int
	bytes    int64
}

// traceEvent is one of the format's events. Times are in microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	At       int64          `json:"ts"`
	Duration int64          `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

const (
	orchestratorProcess = 1
	analyserProcess     = 2
)

// newTrace begins a trace at the start of the run.
func newTrace(begin time.Time) *trace {
	t := &trace{begin: begin}
	for id, name := range map[int]string{orchestratorProcess: "reach", analyserProcess: "reach-analyser"} {
		t.events = append(t.events, traceEvent{Name: "process_name", Phase: "M", Process: id, Args: map[string]any{"name": name}})
	}
	return t
}

// span begins something that this process does; call what it returns at the end.
func (t *trace) span(name string) (end func()) {
	if t == nil {
		return func() {}
	}
	from := time.Now()
	return func() { t.add(name, from, orchestratorProcess, nil) }
}

func (t *trace) add(name string, from time.Time, process int, args map[string]any) {
	t.events = append(t.events, traceEvent{
		Name: name, Phase: "X", At: from.Sub(t.begin).Microseconds(), Duration: time.Since(from).Microseconds(),
		Process: process, Thread: 1, Args: args,
	})
}

// asked notes that the analyser was asked for a census.
func (t *trace) asked() {
	if t != nil {
		t.phase, t.since = "opening", time.Now()
	}
}

// message notes a message of the analyser.
func (t *trace) message(m *reachv1.CensusResponse) {
	if t == nil {
		return
	}
	progress := m.GetProgress()
	if progress != nil {
		t.turn(phaseName(progress))
		t.events = append(t.events, traceEvent{
			Name: phaseName(progress), Phase: "C", At: time.Since(t.begin).Microseconds(), Process: analyserProcess,
			Args: map[string]any{"done": progress.GetDone(), "total": progress.GetTotal()},
		})
	} else if event := m.ProtoReflect().WhichOneof(eventOneof); event != nil {
		t.turn("sending " + string(event.Name()))
	}
	t.messages++
	t.bytes += int64(proto.Size(m))
}

var eventOneof = (*reachv1.CensusResponse)(nil).ProtoReflect().Descriptor().Oneofs().ByName("event")

// turn ends what the analyser was at when it is at something else now.
func (t *trace) turn(phase string) {
	if phase == t.phase {
		return
	}
	if t.phase != "" {
		t.add(t.phase, t.since, analyserProcess, map[string]any{"messages": t.messages, "bytes": t.bytes})
	}
	t.phase, t.since, t.messages, t.bytes = phase, time.Now(), 0, 0
}

// answered notes the end of the analyser's answer.
func (t *trace) answered() {
	if t != nil {
		t.turn("")
	}
}

func (t *trace) write(file string) error {
	if t == nil {
		return nil
	}
	b, err := json.Marshal(struct {
		Events []traceEvent `json:"traceEvents"`
		Unit   string       `json:"displayTimeUnit"`
	}{t.events, "ms"})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing --trace: %w", err)
	}
	return nil
}
