package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
)

// readAll reads every manifest blob of HEAD with git itself.
func readAll(repo string) ([][]byte, error) {
	list, err := exec.Command("git", "-C", repo, "ls-tree", "-r", "-z", "HEAD").Output()
	if err != nil {
		return nil, err
	}
	var ids bytes.Buffer
	for entry := range strings.SplitSeq(string(list), "\x00") {
		meta, path, ok := strings.Cut(entry, "\t")
		f := strings.Fields(meta)
		if ok && len(f) == 3 && strings.HasPrefix(f[0], "100") && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			ids.WriteString(f[2] + "\n")
		}
	}
	cmd := exec.Command("git", "-C", repo, "cat-file", "--batch")
	cmd.Stdin = &ids
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var blobs [][]byte
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file: %q: %w", head, err)
		}
		blobs, out = append(blobs, rest[:size]), rest[size+1:]
	}
	return blobs, nil
}

// parseAll parses every document on all cores and keeps nothing.
func parseAll(blobs [][]byte) error {
	g, _ := errgroup.WithContext(context.Background())
	g.SetLimit(-1)
	work := make(chan []byte)
	for range cores() {
		g.Go(func() error {
			for b := range work {
				d := yaml.NewDecoder(bytes.NewReader(b))
				for {
					var n yaml.Node
					if err := d.Decode(&n); err != nil {
						break // the end, or a template: the naive program goes on
					}
				}
			}
			return nil
		})
	}
	for _, b := range blobs {
		work <- b
	}
	close(work)
	return g.Wait()
}
