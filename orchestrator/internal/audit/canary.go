package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/gitops-reach/reach/orchestrator/internal/launch"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Canary is what became of the attempts to break out.
type Canary struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Walls are what the sealed canary said of itself.
	Walls    []string  `json:"walls"`
	Attempts []Attempt `json:"attempts"`
	Refused  int       `json:"refused"`
	// Escaped succeeded although sealed; Unclear could not be told, or failed
	// without the seal as well; Skipped need root.
	Escaped int `json:"escaped"`
	Unclear int `json:"unclear"`
	Skipped int `json:"skipped"`
}

// Attempt is one of them, made twice: in the seal and without it.
type Attempt struct {
	Name string `json:"name"`
	// Sealed and Unsealed are "killed", "refused: ...", "succeeded",
	// "skipped", or what else happened.
	Sealed   string `json:"sealed"`
	Unsealed string `json:"unsealed"`
}

const (
	killed    = "killed"
	refused   = "refused"
	succeeded = "succeeded"
	skipped   = "skipped: only root can try"
	// exitSucceeded is the exit code of a canary that became a program.
	exitSucceeded = 42
)

// runCanary starts the canary once for each attempt and each of the two ways.
// An error means that it cannot be started or does not answer.
func runCanary(ctx context.Context, binary string) (*Canary, error) {
	c := &Canary{Path: binary, Attempts: []Attempt{}}
	place, err := newPlace()
	if err != nil {
		return nil, fmt.Errorf("making a place for the canary: %w", err)
	}
	defer place.remove()
	names, err := c.list(ctx, place)
	if err != nil {
		return nil, fmt.Errorf("asking the canary what it tries: %w", err)
	}
	place.remove()
	c.Attempts = make([]Attempt, len(names))
	errs := make([]error, len(names))
	work := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				c.Attempts[i], errs[i] = try(ctx, binary, names[i])
			}
		})
	}
	for i := range names {
		work <- i
	}
	close(work)
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	c.count()
	return c, nil
}

func (c *Canary) count() {
	for _, a := range c.Attempts {
		switch {
		case a.Sealed == succeeded:
			c.Escaped++
		case a.Sealed == skipped:
			c.Skipped++
		case (a.Sealed == killed || strings.HasPrefix(a.Sealed, refused)) && a.Unsealed == succeeded:
			c.Refused++
		default:
			c.Unclear++
		}
	}
}

// list asks for the names of the attempts. A name after which rootMark stands
// needs root.
func (c *Canary) list(ctx context.Context, p *place) ([]string, error) {
	a, err := launch.Start(ctx, options(c.Path, p.repository))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	c.SHA256 = a.Digest()
	for _, w := range a.Hello().GetWalls() {
		stands := "stands"
		if !w.GetStands() {
			stands = "does not stand"
		}
		c.Walls = append(c.Walls, fmt.Sprintf("%s %s: %s", w.GetName(), stands, w.GetDetail()))
	}
	var names []string
	err = a.Census(ctx, p.request(""), func(m *reachv1.CensusResponse) error {
		if r := m.GetRule(); r != nil {
			names = append(names, r.GetRule()+rootMark(r))
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = errors.New("it tries nothing")
	}
	return names, err
}

const needsRoot = "\x00root"

func rootMark(r *reachv1.RuleResult) string {
	if r.GetDoc() != "" {
		return needsRoot
	}
	return ""
}

// try makes one attempt both ways, each at a place of its own.
func try(ctx context.Context, binary, name string) (Attempt, error) {
	name, root := strings.CutSuffix(name, needsRoot)
	a := Attempt{Name: name, Sealed: skipped, Unsealed: skipped}
	if root && os.Geteuid() != 0 {
		return a, nil
	}
	for _, way := range []struct {
		result   *string
		unsealed bool
	}{{&a.Sealed, false}, {&a.Unsealed, true}} {
		p, err := newPlace()
		if err != nil {
			return a, fmt.Errorf("making a place for the canary: %w", err)
		}
		repository := p.repository
		if way.unsealed {
			repository = filepath.Join(repository, "unsealed")
		}
		*way.result = outcome(ctx, binary, repository, p.request(name))
		p.remove()
	}
	return a, nil
}

// options start a canary, also on a machine that is emulated.
func options(binary, repository string) launch.Options {
	patience := launch.Deadlines{Start: 5 * time.Minute, Idle: 5 * time.Minute}
	return launch.Options{Binary: binary, Repository: repository, Client: "reach audit", Deadlines: patience}
}

// outcome is how an attempt ended.
func outcome(ctx context.Context, binary, repository string, req *reachv1.CensusRequest) string {
	a, err := launch.Start(ctx, options(binary, repository))
	if err != nil {
		return "not started: " + err.Error()
	}
	defer a.Close()
	err = a.Census(ctx, req, func(*reachv1.CensusResponse) error { return nil })
	var status *launch.StatusError
	var exit *launch.ExitError
	switch {
	case err == nil:
		return succeeded
	case errors.As(err, &status) && status.Code == codes.PermissionDenied:
		return refused + ": " + status.Message
	case errors.As(err, &exit) && exit.Signal == "bad system call":
		return killed
	case errors.As(err, &exit) && exit.Code == exitSucceeded:
		return succeeded
	}
	return err.Error()
}

// place is where attempts are made: a repository whose git directory may be
// read, what lies outside, and what listens.
type place struct {
	base, repository string
	env              map[string]string
	close            []func() error
}

func newPlace() (*place, error) {
	base, err := os.MkdirTemp("", "reach")
	if err != nil {
		return nil, err
	}
	p := &place{base: base, repository: filepath.Join(base, "r")}
	if err := p.fill(); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *place) fill() error {
	git, outside := filepath.Join(p.repository, ".git"), filepath.Join(p.repository, "outside")
	for _, d := range []string{git + "/objects", git + "/refs", git + "/empty", outside, filepath.Join(p.repository, "unsealed")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	xs := strings.Repeat("x", 5000)
	for file, content := range map[string]string{
		git + "/HEAD": "ref: refs/heads/main\n", git + "/config": "[core]\n\trepositoryformatversion = 0\n",
		git + "/file": xs, outside + "/file": xs,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink("../outside/file", git+"/link"); err != nil {
		return err
	}
	p.env = map[string]string{"Dir": git, "Outside": outside}
	for name, l := range map[string][2]string{
		"TCP": {"tcp4", "127.0.0.1:0"}, "Unix": {"unix", filepath.Join(p.base, "s")}, "Abstract": {"unix", "@" + p.base},
	} {
		listener, err := net.Listen(l[0], l[1])
		if err != nil {
			return err
		}
		p.close = append(p.close, listener.Close)
		p.env[name] = listener.Addr().String()
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.close = append(p.close, udp.Close)
	p.env["UDP"] = udp.LocalAddr().String()
	return nil
}

// request asks the canary for an attempt; "" asks for their names.
func (p *place) request(attempt string) *reachv1.CensusRequest {
	// Text in maps of strings always becomes JSON.
	text, _ := json.Marshal(map[string]any{"Attempt": attempt, "Env": p.env})
	return &reachv1.CensusRequest{Revision: "canary:" + string(text), NoProgress: true}
}

func (p *place) remove() {
	for _, c := range p.close {
		_ = c()
	}
	p.close = nil
	_ = os.RemoveAll(p.base)
}
