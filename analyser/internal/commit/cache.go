package commit

import (
	"container/list"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// object is content with its type. The bytes are shared and never changed.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// place is where an object begins: a pack by its number, an offset in it.
type place struct {
	pack   int
	offset int64
}

// baseCache keeps the objects that were used last, as bases of deltas.
type baseCache struct {
	limit int64

	mu    sync.Mutex
	size  int64
	order list.List // of cached, the one used last in front
	at    map[place]*list.Element
}

type cached struct {
	place
	object
}

// overhead of a cached object beside its bytes.
const overhead = 200

func newBaseCache(limit int64) *baseCache {
	return &baseCache{limit: limit, at: map[place]*list.Element{}}
}

func (c *baseCache) get(p place) (object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[p]
	if !ok {
		return object{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).object, true
}

// put keeps an object unless it would push out too many others.
func (c *baseCache) put(p place, o object) {
	size := int64(len(o.data)) + overhead
	if size > c.limit/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.at[p]; ok {
		return
	}
	c.at[p] = c.order.PushFront(cached{p, o})
	c.size += size
	for c.size > c.limit {
		e := c.order.Back()
		last := c.order.Remove(e).(cached)
		delete(c.at, last.place)
		c.size -= int64(len(last.data)) + overhead
	}
}
