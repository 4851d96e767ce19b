package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
)

// Spokes names the cluster behind a kubeConfig reference of an object on a
// cluster. kind is "Secret" or "ConfigMap".
type Spokes func(controller, kind, namespace, name, key string) string

// id names a Kustomization.
type id struct{ cluster, namespace, name string }

// child is a Kustomization among the objects that another one renders.
type child struct {
	namespace, name string
	// kubeConfig is "kind/name/key", empty for none.
	kind, reference, key string
}

// rendering is a file of the folder.
type rendering struct {
	objects  int
	failed   bool
	children []child
}

// loadFolder reads a folder of rendered Kustomizations, as `flux build
// kustomization` prints them: CLUSTER/NAMESPACE/NAME.yaml, or CLUSTER/NAME.yaml
// for those in flux-system. CLUSTER is the one on which the Kustomization lives;
// its name may hold slashes. An empty file, and one that is called NAME.failed,
// is a build that failed.
//
// Where a Kustomization lands is taken from the object itself, which is part of
// what its parent renders; one that no file renders is a root and local. Of the
// objects nothing is kept but their number, so no value of a Secret stays in
// memory.
func loadFolder(dir string, spokes Spokes) (*File, error) {
	rendered := map[id]rendering{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the oracle: %w", err)
		}
		if strings.HasPrefix(d.Name(), ".") && file != dir {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(file)
		if d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".failed"}, ext) {
			return nil
		}
		if !d.Type().IsRegular() {
			return &Error{File: file, Message: "it is no regular file"}
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		k, ok := nameOf(strings.TrimSuffix(filepath.ToSlash(rel), ext))
		if !ok {
			return &Error{File: file, Message: "it lies in no folder of a cluster: the places are CLUSTER/NAMESPACE/NAME.yaml and CLUSTER/NAME.yaml"}
		}
		if _, twice := rendered[k]; twice {
			return &Error{File: file, Message: "another file stands for the same Kustomization"}
		}
		rendered[k] = rendering{failed: true}
		if ext != ".failed" {
			rendered[k], err = readRendering(file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(rendered) == 0 {
		return nil, &Error{File: dir, Message: "it holds no rendered Kustomization: the places are CLUSTER/NAMESPACE/NAME.yaml and CLUSTER/NAME.yaml"}
	}
	f := &File{Format: "folder", Rows: derive(rendered, spokes)}
	if at := check(f.Rows); at != nil {
		return nil, &Error{File: dir, Message: at.message}
	}
	return f, nil
}

// nameOf takes the Kustomization out of the place of its file.
func nameOf(rel string) (id, bool) {
	parts := strings.Split(rel, "/")
	switch n := len(parts); n {
	case 1:
		return id{}, false
	case 2:
		return id{parts[0], "flux-system", parts[1]}, true
	default:
		return id{path.Join(parts[:n-2]...), parts[n-2], parts[n-1]}, true
	}
}

// head is what is read of an object.
type head struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
	Spec yaml.Node `yaml:"spec"`
}

type kubeConfigSpec struct {
	KubeConfig *struct {
		SecretRef *struct {
			Name string `yaml:"name"`
			Key  string `yaml:"key"`
		} `yaml:"secretRef"`
		ConfigMapRef *struct {
			Name string `yaml:"name"`
		} `yaml:"configMapRef"`
	} `yaml:"kubeConfig"`
}

func readRendering(file string) (rendering, error) {
	data, large, err := bounded.ReadFile(file, "the oracle", maxFile)
	if err != nil {
		return rendering{}, err
	}
	if large {
		return rendering{}, &Error{File: file, Message: fmt.Sprintf("larger than %d bytes", maxFile)}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return rendering{failed: true}, nil
	}
	var out rendering
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			// The parser's words may hold a value; its line does not.
			line := 0
			_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
			return rendering{}, &Error{File: file, Line: line, Message: "not YAML"}
		}
		if len(doc.Content) != 1 || doc.Content[0].Tag == "!!null" {
			continue
		}
		var o head
		if err := doc.Decode(&o); err != nil || o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			return rendering{}, &Error{File: file, Line: doc.Content[0].Line, Message: "this is no object: it wants apiVersion, kind and metadata.name"}
		}
		out.objects++
		if o.Kind != "Kustomization" || !strings.HasPrefix(o.APIVersion, "kustomize.toolkit.fluxcd.io/") {
			continue
		}
		var spec kubeConfigSpec
		if !o.Spec.IsZero() {
			if err := o.Spec.Decode(&spec); err != nil {
				return rendering{}, &Error{File: file, Line: o.Spec.Line, Message: "spec.kubeConfig of this Kustomization has another form than Flux gives it"}
			}
		}
		c := child{namespace: o.Metadata.Namespace, name: o.Metadata.Name}
		if k := spec.KubeConfig; k != nil && k.SecretRef != nil {
			c.kind, c.reference, c.key = "Secret", k.SecretRef.Name, k.SecretRef.Key
		} else if k != nil && k.ConfigMapRef != nil {
			c.kind, c.reference = "ConfigMap", k.ConfigMapRef.Name
		}
		out.children = append(out.children, c)
	}
}

// derive tells where each Kustomization lands. What a Kustomization renders
// lands on its target, where the Kustomizations among it live; so targets are
// worked out again until they stay.
func derive(rendered map[id]rendering, spokes Spokes) []Row {
	rows := map[id]Row{}
	for range len(rendered) + 2 {
		next := map[id]Row{}
		for k := range rendered {
			next[k] = Row{Cluster: k.cluster, Namespace: k.namespace, Name: k.name, Class: "local", Target: k.cluster}
		}
		for k, r := range rendered {
			for _, c := range r.children {
				on := k.cluster
				if known, ok := rows[k]; ok {
					on = known.Target
				}
				at := id{on, c.namespace, c.name}
				row := Row{Cluster: on, Namespace: c.namespace, Name: c.name, Class: "local", Target: on}
				if c.kind != "" {
					row.Class, row.Target = "remote_direct", spokes(on, c.kind, c.namespace, c.reference, c.key)
				}
				// Two parents may render one object; which wins must not depend
				// on the order of a map.
				if old, ok := next[at]; !ok || old.Class == "local" || row.Class != "local" && row.Target < old.Target {
					next[at] = row
				}
			}
		}
		same := len(next) == len(rows)
		for k, r := range next {
			same = same && rows[k] == r
		}
		rows = next
		if same {
			break
		}
	}
	out := []Row{}
	for k, row := range rows {
		r, ok := rendered[k]
		switch {
		case !ok:
			row.State = NotRendered
		case r.failed:
			row.State = Failed
		default:
			row.State = Rendered
			n := r.objects
			row.Objects = &n
		}
		out = append(out, row)
	}
	slices.SortFunc(out, compareRows)
	return out
}
