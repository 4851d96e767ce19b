package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gitops-reach/reach/hack/dump"
)

// tally counts how the analyser and an oracle agree. Objects: agree to order.
// Targets (builds): the rest.
type tally struct {
	targets, agree, miss, add, identity, spec, order                 int
	bothFail, otherCause, oracleFails, weFail, external, undecidable int
	// reasons counts what is unresolved, by reason.
	reasons     map[string]int
	differences []string
}

func newTally() *tally { return &tally{reasons: map[string]int{}} }

func (t *tally) bad() bool {
	return t.miss+t.add+t.identity+t.spec+t.order+t.otherCause+t.oracleFails+t.weFail > 0
}

func (t *tally) differ(format string, args ...any) {
	t.differences = append(t.differences, fmt.Sprintf(format, args...))
}

func (t *tally) unresolved(reason string) {
	t.undecidable++
	t.reasons[reason]++
}

// build compares one build. With an oracle error objects is nil.
func (t *tally) build(name string, got *dump.Build, objects []any, err error) {
	t.targets++
	switch {
	case len(got.External) > 0 && got.Failure == nil:
		// Without network the oracle cannot know either; but it must not know.
		if err == nil {
			t.weFail++
			t.differ("%s: said to need %v, the oracle builds it without", name, got.External)
			return
		}
		if !remote(err) {
			t.oracleFails++
			t.differ("%s: only the oracle fails, and not for %v: %.600v", name, got.External, err)
			return
		}
		t.external++
		for _, e := range got.External {
			kind, _, _ := strings.Cut(e, " ")
			t.reasons["external "+kind]++
		}
	case got.Unresolved != nil:
		t.unresolved(got.Unresolved.Code)
	case err != nil && got.Failure != nil:
		t.bothFail++
		if !sameCause(err, got.Failure.Code) && !(len(got.External) > 0 && remote(err)) {
			t.otherCause++
			t.differ("%s: other cause: we say %s (%s:%d) %s\n    the oracle: %.500v", name, got.Failure.Code, got.Failure.File, got.Failure.Line, got.Failure.Message, err)
		}
	case err != nil:
		t.oracleFails++
		t.differ("%s: only the oracle fails: %.700v", name, err)
	case got.Failure != nil:
		t.weFail++
		t.differ("%s: only we fail: %s (%s:%d) %s", name, got.Failure.Code, got.Failure.File, got.Failure.Line, got.Failure.Message)
	default:
		t.objects(name, got, objects)
	}
}

// objects compares what both built. It pairs by identity first, so that one
// object too many is not a difference in all that follow.
func (t *tally) objects(name string, got *dump.Build, want []any) {
	have := make([]any, len(got.Objects))
	for i, o := range got.Objects {
		have[i], _ = decode(o.Content)
		if o.UnknownName {
			t.reasons["hash that cannot be known"]++
			want = unhash(want, identify(have[i]).name)
		}
		// kustomize takes a null apiVersion for "" or for "null", and a
		// namespace that is a number for its text; Flux takes it for none.
		id, content := identity{o.Group, strings.TrimSuffix(o.Version, "null"), o.Kind, o.Namespace, o.Name}, identify(have[i])
		if id != content && (id.namespace != "" || id != content.in("")) {
			t.identity++
			t.differ("%s: %v is called %v", name, identify(have[i]), id)
		}
	}
	pair := pairs(have, want)
	last, inOrder := -1, true
	taken := make([]bool, len(want))
	var missed, added []int
	for i, j := range pair {
		if j < 0 {
			added = append(added, i)
			continue
		}
		taken[j] = true
		inOrder = inOrder && j > last
		last = j
		c := &contrast{secret: secret(want[j]), unknown: map[string]bool{}}
		for _, at := range got.Objects[i].Unknown {
			c.unknown[at] = true
			t.reasons["value of a variable that is not in the repository"]++
		}
		if d := c.difference("", want[j], have[i]); d != "" {
			t.spec++
			t.differ("%s: %v (%s:%d): %s", name, identify(want[j]), got.Objects[i].File, got.Objects[i].Line, d)
			continue
		}
		t.agree++
	}
	for j := range want {
		if !taken[j] {
			missed = append(missed, j)
		}
	}
	for len(missed) > 0 && len(added) > 0 {
		j := missed[0]
		k := slices.IndexFunc(added, func(i int) bool { return identify(have[i]).kind == identify(want[j]).kind })
		if k < 0 {
			break
		}
		t.identity++
		t.differ("%s: want %v, have %v", name, identify(want[j]), identify(have[added[k]]))
		missed, added = missed[1:], slices.Delete(added, k, k+1)
	}
	for _, j := range missed {
		t.miss++
		t.differ("%s: we miss %v", name, identify(want[j]))
	}
	for _, i := range added {
		t.add++
		t.differ("%s: we add %v", name, identify(have[i]))
	}
	if !inOrder && len(missed)+len(added) == 0 {
		t.order++
		t.differ("%s: another order", name)
	}
}

// pairs gives for each object of have the index in want of the one with its
// identity, -1 for none.
func pairs(have, want []any) []int {
	by := map[identity][]int{}
	for j, o := range want {
		id := identify(o)
		by[id] = append(by[id], j)
	}
	out := make([]int, len(have))
	for i, o := range have {
		out[i] = -1
		if js := by[identify(o)]; len(js) > 0 {
			out[i], by[identify(o)] = js[0], js[1:]
		}
	}
	return out
}

type identity struct{ group, version, kind, namespace, name string }

func (i identity) String() string {
	return strings.Join([]string{i.group, i.version, i.kind, i.namespace, i.name}, "/")
}

func (i identity) in(namespace string) identity {
	i.namespace = namespace
	return i
}

func identify(o any) identity {
	text := func(keys ...string) string {
		v := o
		for _, k := range keys {
			m, _ := v.(map[string]any)
			v = m[k]
		}
		switch v := v.(type) {
		case string:
			return v
		case json.Number, bool:
			return fmt.Sprint(v) // kustomize takes them for their text
		}
		return ""
	}
	group, version, ok := strings.Cut(text("apiVersion"), "/")
	if !ok {
		group, version = "", group
	}
	return identity{group, version, text("kind"), text("metadata", "namespace"), text("metadata", "name")}
}

func secret(o any) bool { return identify(o).kind == "Secret" }

// unhash takes the hash from the names, and references to them, of an object
// whose hash cannot be known.
func unhash(objects []any, name string) []any {
	hashed := regexp.MustCompile("^" + regexp.QuoteMeta(name) + "-[a-z0-9]{10}$")
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, e := range v {
				out[k] = walk(e)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = walk(e)
			}
			return out
		case string:
			if hashed.MatchString(v) {
				return name
			}
		}
		return v
	}
	return walk(objects).([]any)
}

func decode(j []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}

// contrast finds where two objects differ.
type contrast struct {
	// secret keeps values out of what it says.
	secret bool
	// unknown are places where the analyser says that it does not know.
	unknown map[string]bool
}

// difference is the first place where two values differ, "" when they are
// equal.
func (c *contrast) difference(at string, want, have any) string {
	if c.unknown[at] {
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			break
		}
		for _, k := range sorted(w) {
			if _, ok := h[k]; !ok {
				return fmt.Sprintf("%s.%s is missing, want %s", at, k, c.show(w[k]))
			}
			if d := c.difference(at+"."+k, w[k], h[k]); d != "" {
				return d
			}
		}
		for _, k := range sorted(h) {
			if _, ok := w[k]; !ok {
				return fmt.Sprintf("%s.%s should not be there: %s", at, k, c.show(h[k]))
			}
		}
		return ""
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			break
		}
		for i := range w {
			if d := c.difference(fmt.Sprintf("%s[%d]", at, i), w[i], h[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if h, ok := have.(json.Number); ok && sameNumber(w, h) {
			return ""
		}
	case string:
		h, ok := have.(string)
		if ok && h == w {
			return ""
		}
		if ok && !c.secret {
			i := 0
			for i < min(len(w), len(h)) && w[i] == h[i] {
				i++
			}
			i = max(0, i-20)
			return fmt.Sprintf("%s is …%.80q, want …%.80q", at, h[i:], w[i:])
		}
	default:
		if reflect.DeepEqual(want, have) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s, want %s", at, c.show(have), c.show(want))
}

// sameNumber: 1.0 and 1 are one number.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err1 == nil && err2 == nil && x == y
}

func (c *contrast) show(v any) string {
	if c.secret {
		return fmt.Sprintf("(a %T)", v)
	}
	j, _ := json.Marshal(v)
	return fmt.Sprintf("%.200s", j)
}
