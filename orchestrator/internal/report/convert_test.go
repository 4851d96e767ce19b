package report

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// fill sets every field of a message to something that is not its zero value.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			value := protoreflect.ValueOfInt32(7)
			if f.MapValue().Kind() == protoreflect.StringKind {
				value = protoreflect.ValueOfString("text")
			}
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), value)
		case f.IsList() && f.Message() != nil:
			list := m.Mutable(f).List()
			fill(list.AppendMutable().Message())
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfString("text"))
		case f.Message() != nil:
			fill(m.Mutable(f).Message())
		case f.Enum() != nil:
			m.Set(f, protoreflect.ValueOfEnum(2))
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("text"))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		case f.Kind() == protoreflect.Int32Kind:
			m.Set(f, protoreflect.ValueOfInt32(7))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(7))
		}
	}
}

// zeros calls f with the path of every field that has its zero value.
func zeros(v reflect.Value, path string, f func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		zeros(v.Elem(), path, f)
		return
	case reflect.Struct:
		for i := range v.NumField() {
			zeros(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			zeros(v.Index(i), path+"[]", f)
		}
	}
	if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		f(path)
	}
}

// countLeaves counts the fields of a message, nested ones included.
func countLeaves(d protoreflect.MessageDescriptor) int {
	n := 0
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if f.Message() != nil && !f.IsMap() && f.Message().FullName() != "google.protobuf.Timestamp" {
			n += countLeaves(f.Message())
			continue
		}
		n++
	}
	return n
}

func countFields(t reflect.Type) int {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return countFields(t.Elem())
	case reflect.Struct:
		n := 0
		for i := range t.NumField() {
			n += countFields(t.Field(i).Type)
		}
		return n
	}
	return 1
}

// TestEveryFieldArrives: what the protocol carries is in the report, field by
// field, and what the report has is filled from it.
func TestEveryFieldArrives(t *testing.T) {
	for _, c := range []struct {
		event proto.Message
		// further are the fields of the record that no field of the message
		// has.
		further int
	}{
		{&reachv1.Sync{}, 0},
		{&reachv1.Release{}, 0},
		{&reachv1.Placement{}, 0},
		{&reachv1.Object{}, 0},
		{&reachv1.LiveObject{}, 0},
		{&reachv1.File{}, 0},
		{&reachv1.Finding{}, 1},     // Fingerprint, which the review fills in
		{&reachv1.CoverageRow{}, 1}, // Cluster
	} {
		fill(c.event.ProtoReflect())
		response := &reachv1.CensusResponse{}
		event := response.ProtoReflect()
		oneof := event.Descriptor().Oneofs().ByName("event")
		for i := range oneof.Fields().Len() {
			if f := oneof.Fields().Get(i); f.Message() == c.event.ProtoReflect().Descriptor() {
				event.Set(f, protoreflect.ValueOfMessage(c.event.ProtoReflect()))
			}
		}
		name := c.event.ProtoReflect().Descriptor().Name()
		record := FromProto(response)
		if record == nil {
			t.Errorf("%s has no record", name)
			continue
		}
		zeros(reflect.ValueOf(record), string(name), func(path string) {
			if path != "Finding.Fingerprint" {
				t.Errorf("%s is not filled", path)
			}
		})
		has, wants := countFields(reflect.TypeOf(record)), countLeaves(c.event.ProtoReflect().Descriptor())
		if has != wants+c.further {
			t.Errorf("%s has %d fields, the record %d: what the protocol carries must be in the report", name, wants, has)
		}
	}
}

// TestEverySummaryFieldArrives is the same for the header and the summary.
func TestEverySummaryFieldArrives(t *testing.T) {
	header, summary, rule := &reachv1.Header{}, &reachv1.Summary{}, &reachv1.RuleResult{}
	fill(header.ProtoReflect())
	fill(summary.ProtoReflect())
	fill(rule.ProtoReflect())
	h := HeaderFromProto(header)
	if len(h.Walls) != 1+len(wallNames) || h.Walls[1].Stands {
		t.Errorf("walls that nobody spoke of: %v", h.Walls)
	}
	h.Walls = h.Walls[:1]
	h.Tool, h.Names, h.Repository = Tool{"reach", "1", "1"}, "alias", "repository"
	c := CensusFromProto(h, []*reachv1.RuleResult{rule}, summary)
	c.Data = []DataFile{{"x", 1, "schema.json#X"}}
	// The oracle and the review are the orchestrator's own.
	own := regexp.MustCompile(`^Census\.(Header\.Oracle|Review|Counts\.Findings(Suppressed|Known)$|Rules\[\]\.Hidden$)`)
	zeros(reflect.ValueOf(c), "Census", func(path string) {
		if !own.MatchString(path) {
			t.Errorf("%s is not filled", path)
		}
	})
	wants := countLeaves(header.ProtoReflect().Descriptor()) + countLeaves(summary.ProtoReflect().Descriptor()) +
		countLeaves(rule.ProtoReflect().Descriptor())
	// More: schema and its file, tool (3), names, repository, role of a cluster,
	// data (3), oracle (9), review (1 and a baseline of 4 and a suppression of 8),
	// what is hidden (3), the keys of two maps of text (2).
	// Less: the origin's URL, which is only for naming.
	if has := countFields(reflect.TypeOf(c)); has != wants+11+27-1 {
		t.Errorf("header, summary and rule have %d fields, the record %d", wants, has)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		enum enum
		want string
	}{
		{reachv1.Class_CLASS_REMOTE_HUB_RENDER, "remote_hub_render"},
		{reachv1.Role_ROLE_GENERATOR_INPUT, "generator_input"},
		{reachv1.Analysis_ANALYSIS_SEEN_NOT_ANALYSED, "seen_not_analysed"},
		{reachv1.State_STATE_SPOKE_APPLIED, "spoke_applied"},
		{reachv1.Severity_SEVERITY_FATAL, "fatal"},
		{reachv1.VerdictKind_VERDICT_KIND_IN_INVENTORY, "in_inventory"},
		{reachv1.VerdictKind_VERDICT_KIND_UNSPECIFIED, ""},
		{reachv1.Class(99), "unknown_99"},
	} {
		if got := word(c.enum); got != c.want {
			t.Errorf("%v: got %q, want %q", c.enum, got, c.want)
		}
	}
	for n, s := range severities {
		if got := word(reachv1.Severity(n + 1)); got != s {
			t.Errorf("severity %d is %q in the protocol and %q here", n+1, got, s)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"größe/日本.yaml":     "größe/日本.yaml",
		"a\x1b[31mred":      `a\u{1b}[31mred`,
		"a\nb\tc":           `a\nb\tc`,
		"a\xffb":            `a\xffb`,
		"abc\u202egpj.exe":  `abc\u{202e}gpj.exe`,
		"zero\u200bwidth":   `zero\u{200b}width`,
		"nul\x00 and \x7f":  `nul\u{0} and \u{7f}`,
		"\u2028 separators": `\u{2028} separators`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range [][3]int{{327, 459, 71}, {999, 1000, 99}, {1000, 1000, 100}, {0, 0, 0}, {1, 1000, 0}} {
		if got := Percent(c[0], c[1]); got != c[2] {
			t.Errorf("%d of %d: got %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// A record shares nothing with its message that changes when it is renamed: the
// message may be read again.
func TestRecordsAreCopies(t *testing.T) {
	events := (&reachv1.CensusResponse{}).ProtoReflect().Descriptor().Oneofs().ByName("event").Fields()
	records := 0
	for i := range events.Len() {
		m := &reachv1.CensusResponse{}
		fill(m.ProtoReflect().Mutable(events.Get(i)).Message())
		before := proto.Clone(m)
		record := FromProto(m)
		if record == nil {
			continue
		}
		records++
		Rename(record, func(s string) string { return s + "x" })
		if diff := cmp.Diff(before, m, protocmp.Transform()); diff != "" {
			t.Errorf("%s: renaming its record changed the message:\n%s", events.Get(i).Name(), diff)
		}
	}
	if records < 8 {
		t.Errorf("only %d kinds of records", records)
	}
}
