package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNothingIsLeftAfterASignal starts this test again as a process that lays
// down files without end, and asks that to end.
func TestNothingIsLeftAfterASignal(t *testing.T) {
	if dir := os.Getenv("REACH_ORACLE_FOLDER"); dir != "" {
		removeOnSignal(dir)
		for i := 0; ; i++ {
			name := filepath.Join(dir, "object.yaml")
			if os.WriteFile(name, []byte("secret"), 0o600) == nil && i == 0 {
				os.Stdout.WriteString("writing\n")
			}
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := filepath.Join(t.TempDir(), "commit")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNothingIsLeftAfterASignal$")
		cmd.Env = append(os.Environ(), "REACH_ORACLE_FOLDER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if strings.TrimSpace(line) != "writing" {
			t.Fatalf("the process says %q", line)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("after %v the folder is still there: %v", s, err)
		}
	}
}
