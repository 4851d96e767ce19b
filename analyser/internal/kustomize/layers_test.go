package kustomize

import (
	"fmt"
	"testing"
)

// TestLayerCache: what is used stays, what is not goes, and the objects are bounded.
func TestLayerCache(t *testing.T) {
	c := layerCache{limit: 100}
	key := func(i int) layerKey { return layerKey{dir: fmt.Sprint(i)} }
	base := &layer{entries: make([]*entry, 9)}
	c.put(key(-1), base)
	for i := range 1000 {
		c.put(key(i), &layer{entries: make([]*entry, i%10)})
		if c.get(key(-1)) != base {
			t.Fatalf("the base is forgotten after %d layers", i)
		}
		size := 0
		for _, h := range c.held {
			size += h.weight()
		}
		if size != c.size || size > c.limit {
			t.Fatalf("%d objects are held, %d are counted, the limit is %d", size, c.size, c.limit)
		}
	}
	if c.get(key(0)) != nil || c.get(key(999)) == nil {
		t.Error("the oldest layer is remembered, or the newest is not")
	}
	large := &layer{entries: make([]*entry, 200)}
	c.put(key(-2), large)
	for i := range 1000 {
		c.put(key(2000+i), &layer{entries: make([]*entry, 30)})
		if c.get(key(-2)) != large {
			t.Fatalf("a layer beyond the limit is forgotten after %d layers", i)
		}
	}
}
