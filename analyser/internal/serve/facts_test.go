package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func TestFactsInTheWrongPlaceAreRefused(t *testing.T) {
	entries := &reachv1.Fact{Cluster: "hub", Fact: &reachv1.Fact_Entries{Entries: &reachv1.InventoryEntries{
		Holder:  &reachv1.ObjectReference{Group: "g", Kind: "K", Namespace: "n", Name: "a"},
		Entries: []*reachv1.InventoryEntry{{Id: "_a__Namespace", V: "v1"}},
	}}}
	holder := &reachv1.Fact{Cluster: "hub", Fact: &reachv1.Fact_Holder{Holder: &reachv1.InventoryHolder{Group: "g", Kind: "K", Namespace: "n", Name: "a", Entries: 2, HasInventory: true}}}
	c := &collector{}
	for _, step := range []struct {
		name string
		fact *reachv1.Fact
		want codes.Code
	}{
		{"entries before their holder", entries, codes.InvalidArgument},
		{"no cluster", &reachv1.Fact{Fact: holder.Fact}, codes.InvalidArgument},
		{"the holder", holder, codes.OK},
		{"its entries", entries, codes.OK},
		{"what a newer client tells", &reachv1.Fact{Cluster: "hub"}, codes.OK},
	} {
		if got := status.Code(c.add(step.fact)); got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
	told := c.told()
	if told.GetUnknown() != 1 || len(told.GetProblems()) != 2 {
		t.Errorf("%v: want one unknown fact, an inventory that is too short and a cluster without Access", told)
	}
	c.take()
	if got := status.Code(c.add(holder)); got != codes.FailedPrecondition {
		t.Errorf("a fact after the census began: %v", got)
	}
	full := &collector{kept: reachv1.MaxFacts}
	if got := status.Code(full.add(holder)); got != codes.ResourceExhausted {
		t.Errorf("one fact too many: %v", got)
	}
}

// FuzzFacts tells any facts to a service and takes a census: it ends with a
// summary, and everything can be sent.
func FuzzFacts(f *testing.F) {
	goldens, err := filepath.Glob("../../../testdata/census/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	seeds := 0
	for _, name := range goldens {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name != "facts" {
				continue
			}
			m := &reachv1.FactsRequest{}
			for line := range bytes.Lines(file.Data) {
				fact := &reachv1.Fact{}
				if err := protojson.Unmarshal(line, fact); err != nil {
					f.Fatalf("%s: %v", name, err)
				}
				m.Facts = append(m.Facts, fact)
			}
			b, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatal("no golden census has facts")
	}
	service := fuzzService(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &reachv1.FactsRequest{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		s := &Service{Engines: service.Engines, Open: service.Open}
		for _, fact := range m.GetFacts() {
			if err := s.facts.add(fact); err != nil && status.Code(err) == codes.Unknown {
				t.Error(err)
			}
		}
		if _, err := proto.Marshal(s.facts.told()); err != nil {
			t.Error(err)
		}
		out := &sent{ctx: t.Context()}
		if err := s.Census(&reachv1.CensusRequest{}, out); err != nil {
			t.Fatal(err)
		}
		if out.bad != nil || out.last.GetSummary() == nil {
			t.Errorf("%v, and the last message is %v", out.bad, out.last)
		}
	})
}
