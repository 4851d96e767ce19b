package main

import (
	"os"
	"os/signal"
	"syscall"
)

// removeOnSignal removes a folder and ends the process when it is asked to end.
// The tools cannot be interrupted, and the folder holds the commit as it is
// rendered, Secrets included.
func removeOnSignal(dir string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-asked
		// What still writes finds its folder gone, or is removed once more.
		for range 3 {
			if os.RemoveAll(dir) == nil {
				break
			}
		}
		os.Exit(1)
	}()
}
