// Package gitserver serves git repositories on loopback as a git host does:
// smart HTTP, by git's own http-backend.
package gitserver

import (
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A Server serves the repositories below a folder, to be read only.
type Server struct {
	http *http.Server
	url  string
}

// Start serves the repositories below root until Close.
func Start(root string) (*Server, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + os.DevNull,
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	s := &Server{http: &http.Server{Handler: backend, ReadHeaderTimeout: time.Minute}, url: "http://" + listener.Addr().String()}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// URL is where the repository of that path below root is.
func (s *Server) URL(repository string) string { return s.url + "/" + repository }

// Close ends the server.
func (s *Server) Close() { _ = s.http.Close() }
