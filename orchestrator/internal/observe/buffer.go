package observe

import (
	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/orchestrator/internal/session"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// batchBytes is about how large a fact of many objects may become.
const batchBytes = 256 << 10

// buffer collects the facts of one job.
type buffer struct {
	cluster string
	facts   []*reachv1.Fact
	// objects wait to be told together.
	objects []*reachv1.PresentObject
	size    int
}

func (b *buffer) add(f *reachv1.Fact) {
	f.Cluster = b.cluster
	b.facts = append(b.facts, f)
}

// present tells of an object, with others in one fact.
func (b *buffer) present(o *reachv1.PresentObject) {
	b.objects = append(b.objects, o)
	if b.size += proto.Size(o); b.size >= batchBytes {
		b.settle()
	}
}

// settle tells of the objects that wait.
func (b *buffer) settle() {
	if len(b.objects) > 0 {
		b.add(&reachv1.Fact{Fact: &reachv1.Fact_Present{Present: &reachv1.PresentObjects{Objects: b.objects}}})
	}
	b.objects, b.size = nil, 0
}

func (b *buffer) reading(r *reachv1.Reading) {
	b.settle()
	b.add(&reachv1.Fact{Fact: &reachv1.Fact_Reading{Reading: r}})
}

// entries tells of the entries of an inventory.
func (b *buffer) entries(holder *reachv1.ObjectReference, all []*reachv1.InventoryEntry) {
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) && n < 5000 && size < batchBytes {
			size += proto.Size(all[n])
			n++
		}
		b.add(&reachv1.Fact{Fact: &reachv1.Fact_Entries{Entries: &reachv1.InventoryEntries{Holder: holder, Entries: all[:n]}}})
		all = all[n:]
	}
}

// served tells what the server serves.
func (b *buffer) served(kinds []session.Kind) {
	for len(kinds) > 0 {
		n := min(len(kinds), 1000)
		served := &reachv1.ServedKinds{}
		for _, k := range kinds[:n] {
			served.Kinds = append(served.Kinds, &reachv1.ServedKind{
				Group: clip(k.Group, maxName), Version: clip(k.Version, maxName), Kind: clip(k.Kind, maxName),
				Resource: clip(k.Resource, maxName), Namespaced: k.Namespaced,
			})
		}
		b.add(&reachv1.Fact{Fact: &reachv1.Fact_Served{Served: served}})
		kinds = kinds[n:]
	}
}

// flush hands all facts over.
func (b *buffer) flush(emit func(*reachv1.Fact) error) error {
	b.settle()
	for _, f := range b.facts {
		if err := emit(f); err != nil {
			return err
		}
	}
	b.facts = nil
	return nil
}
