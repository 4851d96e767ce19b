package flux

import (
	"strings"
	"sync"
	"sync/atomic"
)

// cache remembers results by text. It forgets everything when it is full.
type cache[V any] struct {
	entries atomic.Pointer[sync.Map]
	n       atomic.Int64
}

const maxCached = 50_000

func newCache[V any]() *cache[V] {
	c := &cache[V]{}
	c.entries.Store(&sync.Map{})
	return c
}

func (c *cache[V]) get(key string, make func() V) V {
	m := c.entries.Load()
	if v, ok := m.Load(key); ok {
		return v.(V)
	}
	v := make()
	if c.n.Add(1) > maxCached {
		c.n.Store(0)
		c.entries.Store(&sync.Map{})
	}
	m.Store(strings.Clone(key), v)
	return v
}
