// Command touch touches one writer, named by its argument.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

var self, _ = os.Open(os.Args[0])

var writers = map[string]func(){
	"os.Mkdir":             func() { os.Mkdir("x", 0o700) },
	"os.MkdirAll":          func() { os.MkdirAll("x", 0o700) },
	"os.MkdirTemp":         func() { os.MkdirTemp("", "") },
	"os.Rename":            func() { os.Rename("x", "y") },
	"os.Create":            func() { os.Create("x") },
	"os.CreateTemp":        func() { os.CreateTemp("", "") },
	"os.WriteFile":         func() { os.WriteFile("x", nil, 0o600) },
	"os.OpenFile":          func() { os.OpenFile("x", os.O_APPEND|os.O_WRONLY, 0) },
	"os.Chmod":             func() { os.Chmod("x", 0o600) },
	"os.File.Chmod":        func() { self.Chmod(0o600) },
	"os.File.Truncate":     func() { self.Truncate(0) },
	"os.Truncate":          func() { os.Truncate("x", 0) },
	"os.Remove":            func() { os.Remove("x") },
	"os.RemoveAll":         func() { os.RemoveAll("x") },
	"os.Link":              func() { os.Link("x", "y") },
	"os.Symlink":           func() { os.Symlink("x", "y") },
	"os.Chown":             func() { os.Chown("x", 0, 0) },
	"os.Lchown":            func() { os.Lchown("x", 0, 0) },
	"os.Chtimes":           func() { os.Chtimes("x", time.Time{}, time.Time{}) },
	"os.StartProcess":      func() { os.StartProcess("x", nil, &os.ProcAttr{}) },
	"os.Process.Kill":      func() { (&os.Process{}).Kill() },
	"os.Process.Signal":    func() { (&os.Process{}).Signal(os.Interrupt) },
	"os/exec.Command":      func() { exec.Command("x") },
	"os/exec.Cmd.Start":    func() { (&exec.Cmd{Path: "x"}).Start() },
	"os/exec.LookPath":     func() { exec.LookPath("x") },
	"net.Dial":             func() { net.Dial("tcp", "127.0.0.1:1") },
	"net.DialTimeout":      func() { net.DialTimeout("tcp", "127.0.0.1:1", 1) },
	"net.Listen":           func() { net.Listen("tcp", "127.0.0.1:0") },
	"net.ListenPacket":     func() { net.ListenPacket("udp", "127.0.0.1:0") },
	"net.LookupHost":       func() { net.LookupHost("localhost") },
	"net.LookupIP":         func() { net.LookupIP("localhost") },
	"net/http.Client.do":   func() { http.Get("http://127.0.0.1:1") },
	"syscall.ForkExec":     func() { syscall.ForkExec("x", nil, nil) },
	"syscall.StartProcess": func() { syscall.StartProcess("x", nil, nil) },
	"syscall.Exec":         func() { syscall.Exec("x", nil, nil) },
	"net.Dialer.DialContext": func() {
		(&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1:1")
	},
	"net.Resolver.LookupHost":   func() { new(net.Resolver).LookupHost(context.Background(), "localhost") },
	"net.Resolver.LookupIPAddr": func() { new(net.Resolver).LookupIPAddr(context.Background(), "localhost") },
	"net/http.Transport.roundTrip": func() {
		r, _ := http.NewRequest("GET", "http://127.0.0.1:1", nil)
		new(http.Transport).RoundTrip(r)
	},
}

func main() {
	f := writers[os.Args[1]]
	if f == nil {
		fmt.Println("no such writer")
		os.Exit(3)
	}
	f()
	fmt.Println("survived")
}
