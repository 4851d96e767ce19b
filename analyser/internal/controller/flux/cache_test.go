package flux

import (
	"fmt"
	"strings"
	"testing"
)

// TestCacheIsBounded puts more into a cache than it may hold.
func TestCacheIsBounded(t *testing.T) {
	c := newCache[int]()
	long := strings.Repeat("x", 1000)
	for i := range 5 * maxCached / len(long) {
		if got := c.get(fmt.Sprint(long, i), func() int { return i }); got != i {
			t.Fatalf("entry %d is %d", i, got)
		}
	}
	held := 0
	c.entries.Load().Range(func(k, _ any) bool {
		held += len(k.(string)) + entryCost
		return true
	})
	if held == 0 || held > maxCached {
		t.Errorf("the cache holds %d bytes, it may hold %d", held, maxCached)
	}
}
