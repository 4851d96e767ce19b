package flux

import (
	"strings"
	"sync"
	"sync/atomic"
)

// cache remembers results by text. It forgets everything when it is full: what it
// holds is bounded whatever a repository holds.
type cache[V any] struct {
	entries atomic.Pointer[sync.Map]
	size    atomic.Int64 // of all keys, and what an entry costs beside them
}

const (
	maxCached = 8 << 20 // bytes
	entryCost = 300
)

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
	if c.size.Add(int64(len(key)+entryCost)) > maxCached {
		c.size.Store(0)
		c.entries.Store(&sync.Map{})
	}
	m.Store(strings.Clone(key), v)
	return v
}
