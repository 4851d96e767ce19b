package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/hack/oracle/render"
)

// result is what a build gave.
type result struct {
	objects []any
	reason  string
}

// build tells where a Kustomization lands, and builds it when its source is this
// repository.
func (w *world) build(n *node) error {
	n.class, n.target, n.state = "local", n.cluster, "not_rendered"
	if k, ok := value(n.object, "spec", "kubeConfig").(object); ok {
		n.class = "remote_direct"
		secret, configMap := text(k, "secretRef", "name"), text(k, "configMapRef", "name")
		switch {
		case strings.Contains(secret+configMap, "${"):
			n.class, n.target, n.reason = "unresolved", "", "variables_unknown"
			return nil
		case secret != "":
			n.target = w.spoke(n.cluster, "Secret", n.namespace, secret, text(k, "secretRef", "key"))
		case configMap != "":
			n.target = w.spoke(n.cluster, "ConfigMap", n.namespace, configMap, "")
		default:
			n.class, n.target, n.reason = "unresolved", "", "kubeconfig_without_reference"
			return nil
		}
	}
	c := w.clusters[n.cluster]
	if c == nil || !c.runs {
		n.reason = "controller_unknown"
		return nil
	}
	source, reason := w.source(n)
	if reason != "" {
		n.reason = reason
		return nil
	}
	ignore, ignores := value(source.object, "spec", "ignore").(string)
	artifact, err := w.tree.artifact(source.subdirectory, ignore, ignores)
	if err != nil {
		return err
	}
	dir := inside(text(n.object, "spec", "path"))
	if !isDir(join(artifact, dir)) {
		n.state, n.reason = "failed", "path_missing"
		return nil
	}
	definition, values, unknown := w.variables(n, c)
	j, err := json.Marshal(definition)
	if err != nil {
		return err
	}
	key := digest(string(j), artifact, values, fmt.Sprint(c.strict))
	r := w.built[key]
	if r == nil {
		r = w.render(definition, artifact, dir, c, unknown)
		w.built[key] = r
	}
	n.objects, n.reason, n.state = r.objects, r.reason, "rendered"
	if r.reason != "" {
		n.state = "failed"
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{([_A-Za-z][_A-Za-z0-9]*)`)

// render builds with the tools. Where a variable comes from what is not in the
// repository, its own text is put in its place, so that the rest is still built.
func (w *world) render(definition object, artifact, dir string, c *cluster, unknown bool) *result {
	run := func() ([]any, error) {
		j, err := json.Marshal(definition)
		if err != nil {
			return nil, err
		}
		return render.Flux(j, artifact, dir, render.Cluster(c.variables()), c.strict)
	}
	if unknown {
		build := value(definition, "spec", "postBuild")
		delete(definition["spec"].(object), "postBuild")
		objects, err := run()
		if err != nil {
			return &result{reason: reason(err)}
		}
		j, _ := json.Marshal(objects)
		values, _ := value(build.(object), "substitute").(object)
		for _, m := range variable.FindAllSubmatch(j, -1) {
			if name := string(m[1]); values[name] == nil {
				values[name] = "${" + name + "}"
			}
		}
		definition["spec"].(object)["postBuild"] = build
	}
	objects, err := run()
	if err != nil {
		return &result{reason: reason(err)}
	}
	return &result{objects: objects}
}

// reason is a code for the error of a tool. The text stays here: it may quote
// what the tool read.
func reason(err error) string {
	switch s := err.Error(); {
	case errors.Is(err, render.ErrRefused):
		return "kustomization_refused"
	case strings.Contains(s, "post build failed"):
		return "substitution_failed"
	case slices.ContainsFunc([]string{"127.0.0.1:9", "executable file not found", "no 'git' program", "proxyconnect", "helm"}, func(w string) bool { return strings.Contains(s, w) }):
		return "remote_base"
	}
	return "build_failed"
}

// variables are the ConfigMaps and Secrets of a cluster, as a client gives them.
func (c *cluster) variables() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, o := range c.objects {
		if strings.HasPrefix(key, "ConfigMap/") || strings.HasPrefix(key, "Secret/") {
			if j, err := json.Marshal(o); err == nil {
				out[key] = j
			}
		}
	}
	return out
}

// variables gives the Kustomization to build, what its substitution reads, and
// whether some of that is not known: not in the repository, or encrypted. The
// Kustomization then holds the values that are known itself.
func (w *world) variables(n *node, c *cluster) (definition object, values string, unknown bool) {
	definition = clone(n.object)
	from, _ := value(definition, "spec", "postBuild", "substituteFrom").([]any)
	known, rewrite := object{}, false
	var read strings.Builder
	for _, f := range from {
		f, _ := f.(object)
		o := c.find(text(f, "kind"), n.namespace, text(f, "name"))
		if o == nil {
			// An optional one may be there as well: nobody can say.
			unknown = true
			continue
		}
		j, _ := json.Marshal(o)
		read.Write(j)
		for _, field := range []string{"data", "stringData"} {
			data, _ := o[field].(object)
			for k, v := range data {
				s, ok := v.(string)
				if text(f, "kind") == "Secret" {
					// What a Secret says must not become a name.
					rewrite, s = true, "${"+k+"}"
				} else if !ok || strings.HasPrefix(s, "ENC[") {
					unknown, s = true, "${"+k+"}"
				}
				known[k] = s
			}
		}
	}
	if unknown || rewrite {
		build := value(definition, "spec", "postBuild").(object)
		own, _ := build["substitute"].(object)
		maps.Copy(known, own)
		build["substitute"] = known
		delete(build, "substituteFrom")
	}
	return definition, read.String(), unknown
}

// clone is a deep copy, by way of JSON.
func clone(o object) object {
	j, err := json.Marshal(o)
	if err != nil {
		return o
	}
	v, err := render.Decode(j)
	if c, ok := v.(object); ok && err == nil {
		return c
	}
	return o
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
