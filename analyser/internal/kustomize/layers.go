package kustomize

import (
	"cmp"
	"slices"
)

// maxLayerEntries bounds the objects in all layers that a Builder remembers, unless one
// layer alone has half as many. Bases that many targets share are used again and again
// and stay; most layers of a large fleet belong to one cluster, and are used once.
const maxLayerEntries = 8_000

// layerCache remembers the layers that were used last.
type layerCache struct {
	limit int // of objects
	held  map[layerKey]*heldLayer
	size  int
	clock int64
}

type heldLayer struct {
	*layer
	used int64
}

func (l *layer) weight() int { return len(l.entries) + 1 }

func (c *layerCache) get(key layerKey) *layer {
	h := c.held[key]
	if h == nil {
		return nil
	}
	c.clock++
	h.used = c.clock
	return h.layer
}

// put remembers a layer that is not there yet, and forgets a quarter of all when they
// become too many.
func (c *layerCache) put(key layerKey, l *layer) {
	if c.held == nil {
		c.held = map[layerKey]*heldLayer{}
	}
	c.clock++
	c.held[key] = &heldLayer{l, c.clock}
	c.limit = max(c.limit, 2*l.weight())
	if c.size += l.weight(); c.size <= c.limit {
		return
	}
	keys := make([]layerKey, 0, len(c.held))
	for k := range c.held {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b layerKey) int { return cmp.Compare(c.held[a].used, c.held[b].used) })
	for _, k := range keys {
		if c.size <= c.limit/4*3 {
			break
		}
		c.size -= c.held[k].weight()
		delete(c.held, k)
	}
}
