package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dist is a release of both platforms with programs of a few bytes.
func dist(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"linux_amd64/reach", "linux_amd64/reach-analyser", "linux_arm64/reach", "linux_arm64/reach-analyser"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func assemble(t *testing.T, dir string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := run([]string{"-version", "1.2.3", "-created", "1790000000", "-o", file, dir}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unpack(t *testing.T, text []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, map[string]*tar.Header{}
	for in := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err == nil {
			headers[h.Name] = h
			files[h.Name], err = io.ReadAll(in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// problems reads an image as those do who run it, and says what is wrong with it.
func problems(t *testing.T, image []byte) (out []string) {
	t.Helper()
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	files, _ := unpack(t, image)
	read := func(d descriptor, into any) []byte {
		content := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if len(content) != d.Size || digest(content) != d.Digest {
			wrong("%s is not what it should be", d.Digest)
		}
		if into != nil {
			if err := json.Unmarshal(content, into); err != nil {
				wrong("%s: %v", d.Digest, err)
			}
		}
		return content
	}
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		wrong("it is no layout")
	}
	var top, index indexOf
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		wrong("index.json: %v", err)
		return out
	}
	read(top.Manifests[0], &index)
	if len(index.Manifests) != 2 {
		wrong("%d platforms", len(index.Manifests))
	}
	for _, m := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		read(m, &manifest)
		var config struct {
			Architecture string
			Config       struct {
				User, WorkingDir string
				Entrypoint       []string
				Labels           map[string]string
			}
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		}
		read(manifest.Config, &config)
		if config.Architecture != m.Platform["architecture"] {
			wrong("it is for %s and %s", config.Architecture, m.Platform["architecture"])
		}
		if user, group, _ := strings.Cut(config.Config.User, ":"); user == "0" || user == "" || strings.Trim(user+group, "0123456789") != "" {
			wrong("it runs as %q", config.Config.User)
		}
		if fmt.Sprint(config.Config.Entrypoint) != "[/usr/bin/reach]" || config.Config.WorkingDir != "/repo" || config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			wrong("the configuration is %+v", config.Config)
		}
		if len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
			wrong("%d layers", len(manifest.Layers))
			continue
		}
		packed, err := gzip.NewReader(bytes.NewReader(read(manifest.Layers[0], nil)))
		if err != nil {
			wrong("the layer: %v", err)
			continue
		}
		plain, err := io.ReadAll(packed)
		if err != nil || digest(plain) != config.RootFS.DiffIDs[0] {
			wrong("the layer is another one (%v)", err)
		}
		if !bytes.HasSuffix(plain, make([]byte, 1024)) {
			wrong("the layer does not end as archives do")
		}
		content, headers := unpack(t, plain)
		for name, h := range headers {
			if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 && name != "tmp/" {
				wrong("%s may be changed", name)
			}
		}
		for _, program := range []string{"reach", "reach-analyser"} {
			if h := headers["usr/bin/"+program]; h == nil || h.Mode != 0o555 || string(content["usr/bin/"+program]) != "linux_"+config.Architecture+"/"+program {
				wrong("%s is not there for %s", program, config.Architecture)
			}
		}
	}
	return out
}

// TestImage: the image is whole, runs as a user with a number who may change no
// file, and is the same bytes twice; the check itself can fail.
func TestImage(t *testing.T) {
	dir := dist(t)
	image := assemble(t, dir)
	for _, p := range problems(t, image) {
		t.Error(p)
	}
	if !bytes.Equal(image, assemble(t, dir)) {
		t.Error("the same programs give two images")
	}
	for from, to := range map[string]string{`"User":"65532:65532"`: `"User":"00000:65532"`, "imageLayoutVersion": "imageLayoutversion", `"architecture":"arm64"`: `"architecture":"arm46"`} {
		if len(problems(t, bytes.ReplaceAll(image, []byte(from), []byte(to)))) == 0 {
			t.Errorf("%s in place of %s is not seen", to, from)
		}
	}
	if err := run([]string{"-version", "1", "-o", filepath.Join(t.TempDir(), "x"), t.TempDir()}); err == nil {
		t.Error("an image of nothing is made")
	}
}
