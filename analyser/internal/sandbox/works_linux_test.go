package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gitops-reach/reach/firewall/canary"
)

// works is what a sealed process must be able to do for as long as it lives.
func works(e canary.Env) error {
	done := make(chan error)
	const readers = 2000
	for i := range readers {
		go func() {
			if i%40 == 0 {
				runtime.LockOSThread() // a thread that ends with it
			}
			done <- read(e)
		}()
	}
	for range readers {
		if err := <-done; err != nil {
			return err
		}
	}
	// Longer than the runtime takes between two looks at its limits.
	end := time.Now().Add(1500 * time.Millisecond)
	for time.Now().Before(end) {
		waste = make([]byte, 1<<20)
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	func() {
		defer func() { _ = recover() }()
		var p *canary.Env
		_ = p.Dir // a fault that the runtime turns into a panic
	}()
	return read(e)
}

var waste []byte

// oldThreads starts threads and returns a function that has each of them open
// a file, and returns an error when all are refused.
func oldThreads(file string, flags int) func(canary.Env) error {
	const threads = 20
	try, failed := make(chan struct{}), make(chan error)
	var ready sync.WaitGroup
	for range threads {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			<-try
			failed <- canary.Opened(file, flags)
		}()
	}
	ready.Wait()
	return func(canary.Env) error {
		close(try)
		refusals := 0
		for range threads {
			if err := <-failed; err != nil {
				refusals++
			}
		}
		if refusals < threads {
			return nil
		}
		return fmt.Errorf("all %d", refusals)
	}
}

func read(e canary.Env) error {
	b, err := os.ReadFile(e.In("file"))
	if err != nil {
		return err
	}
	if want := bytes.Repeat([]byte("x"), 5000); !bytes.Equal(b, want) {
		return fmt.Errorf("read %d bytes", len(b))
	}
	f, err := os.Open(e.In("file"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 10), 4990); err != nil {
		return err
	}
	if _, err := f.Seek(10, 0); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, err := entry.Info(); err != nil {
			return err
		}
	}
	if _, err := os.Readlink(e.In("link")); err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(e.Dir, "absent"))
	if !os.IsNotExist(err) {
		return fmt.Errorf("a file that does not exist: %v", err)
	}
	return nil
}
