// Command image assembles the container image of reach from what make release
// built, without a daemon and without a base from elsewhere:
//
//	go run ./hack/image -version 0.1.0 -o dist/reach_0.1.0_image.tar dist
//
// The file is an OCI image layout (image-spec 1.1) as one archive, an image for
// each Linux platform of the release behind one index: podman load, skopeo copy
// oci-archive:FILE and docker load (from 25 on) take it. The same programs give the
// same bytes.
//
// It holds both programs, the names of two users, and nothing else; Containerfile
// is the same on distroless, which also brings certificates of public authorities.
// Without these a cluster is reached whose kubeconfig has its certificate, as most
// do, or with some mounted at /etc/ssl/certs.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "`version` of the release")
	created := flags.Int64("created", 0, "time of the commit, in `seconds`")
	output := flags.String("o", "", "`file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *output == "" || flags.NArg() != 1 {
		return errors.New("usage: image -version VERSION -o FILE DIST")
	}
	l := &layout{time: time.Unix(*created, 0).UTC(), version: *version, blobs: map[string][]byte{}}
	index := indexOf{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json"}
	for _, machine := range []string{"amd64", "arm64"} {
		dir := filepath.Join(flags.Arg(0), "linux_"+machine)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		image, err := l.image(dir, machine)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, image)
	}
	if len(index.Manifests) == 0 {
		return fmt.Errorf("%s holds no linux_amd64 and no linux_arm64: make release writes them", flags.Arg(0))
	}
	// One name for all platforms: the index in index.json.
	whole, err := l.add(index, index.MediaType)
	if err != nil {
		return err
	}
	whole.Annotations = map[string]string{"org.opencontainers.image.ref.name": *version, "io.containerd.image.name": "localhost/reach:" + *version}
	top, err := json.Marshal(indexOf{SchemaVersion: 2, MediaType: index.MediaType, Manifests: []descriptor{whole}})
	if err != nil {
		return err
	}
	return l.write(*output, top)
}

// layout collects the blobs of an image.
type layout struct {
	time    time.Time
	version string
	blobs   map[string][]byte
	order   []string
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type indexOf struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// image adds the image of a platform.
func (l *layout) image(dir, machine string) (descriptor, error) {
	plain, err := l.layer(dir)
	if err != nil {
		return descriptor{}, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return descriptor{}, err
	}
	_, err = w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		return descriptor{}, err
	}
	layer := l.blob(packed.Bytes(), "application/vnd.oci.image.layer.v1.tar+gzip")
	labels := map[string]string{
		"org.opencontainers.image.title":       "reach",
		"org.opencontainers.image.description": "Which file of a GitOps repository lands on which cluster",
		"org.opencontainers.image.source":      "https://github.com/gitops-reach/reach",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     l.version,
	}
	created := l.time.Format(time.RFC3339)
	config, err := l.add(map[string]any{
		"created": created, "architecture": machine, "os": "linux",
		"config": map[string]any{
			"User": "65532:65532", "WorkingDir": "/repo", "Entrypoint": []string{"/usr/bin/reach"}, "Cmd": []string{"--help"},
			"Env": []string{"PATH=/usr/bin"}, "Labels": labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(plain)}},
		"history": []map[string]any{{"created": created, "created_by": "hack/image"}},
	}, "application/vnd.oci.image.config.v1+json")
	if err != nil {
		return descriptor{}, err
	}
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	out, err := l.add(map[string]any{
		"schemaVersion": 2, "mediaType": manifest, "config": config, "layers": []descriptor{layer}, "annotations": labels,
	}, manifest)
	out.Platform = map[string]string{"os": "linux", "architecture": machine}
	return out, err
}

// layer is the file system: all of root's, nothing that the user may change.
func (l *layout) layer(dir string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	entry := func(name string, mode int64, content []byte) error {
		h := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: l.time, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	err := errors.Join(
		entry("etc/", 0o755, nil),
		entry("etc/group", 0o444, []byte("root:x:0:\nnonroot:x:65532:\n")),
		entry("etc/passwd", 0o444, []byte("root:x:0:0:root:/:/nologin\nnonroot:x:65532:65532:nonroot:/:/nologin\n")),
		entry("repo/", 0o755, nil), entry("reports/", 0o755, nil),
		entry("tmp/", 0o1777, nil), entry("usr/", 0o755, nil), entry("usr/bin/", 0o755, nil),
	)
	for _, name := range []string{"reach", "reach-analyser"} {
		program, failed := os.ReadFile(filepath.Join(dir, name))
		if failed != nil {
			return nil, failed
		}
		err = errors.Join(err, entry("usr/bin/"+name, 0o555, program))
	}
	// The end of the archive is written by Close.
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func (l *layout) add(value any, mediaType string) (descriptor, error) {
	text, err := json.Marshal(value)
	return l.blob(text, mediaType), err
}

func (l *layout) blob(content []byte, mediaType string) descriptor {
	d := digest(content)
	if _, known := l.blobs[d]; !known {
		l.order = append(l.order, d)
	}
	l.blobs[d] = content
	return descriptor{MediaType: mediaType, Digest: d, Size: len(content)}
}

// write writes the layout as one archive.
func (l *layout) write(output string, index []byte) error {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	entry := func(name string, content []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: l.time, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	err := errors.Join(entry("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), entry("index.json", index))
	for _, d := range l.order {
		err = errors.Join(err, entry("blobs/"+strings.Replace(d, ":", "/", 1), l.blobs[d]))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(output, out.Bytes(), 0o644)
}
