package misbehave

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// NotServed is a server that does not have an API group: discovery does not
// name it, and what is asked of it is 404.
func NotServed(group string) Fault {
	groups := Rewrite(func(body map[string]any) {
		drop(body, "groups", func(g map[string]any) bool { return g["name"] == group })
		drop(body, "items", func(g map[string]any) bool {
			meta, _ := g["metadata"].(map[string]any)
			return meta["name"] == group
		})
	})
	missing := func(http.Handler) http.Handler { return http.HandlerFunc(notFound) }
	return func(next http.Handler) http.Handler {
		next = On(func(r *http.Request) bool { return r.URL.Path == "/apis" }, groups)(next)
		return On(func(r *http.Request) bool {
			p, ok := ParsePath(r.URL.Path)
			return ok && p.Group == group
		}, missing)(next)
	}
}

// notFound is what a server says to a path that it does not know.
func notFound(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found\n"))
}

// Inventory gives a Flux Kustomization, NAMESPACE/NAME, an inventory of n
// entries, ConfigMaps many-000000 and so on in the namespace many. A real
// server cannot hold one of 50,000: an object of etcd is 1.5 MB at most.
func Inventory(kustomization string, n int) Fault {
	entries := make([]any, n)
	for i := range entries {
		entries[i] = map[string]any{"id": fmt.Sprintf("many_many-%06d__ConfigMap", i), "v": "v1"}
	}
	return On(Resource("kustomize.toolkit.fluxcd.io", "kustomizations"), Rewrite(func(body map[string]any) {
		eachObject(body, func(o map[string]any) {
			meta, _ := o["metadata"].(map[string]any)
			if fmt.Sprintf("%v/%v", meta["namespace"], meta["name"]) != kustomization {
				return
			}
			status, _ := o["status"].(map[string]any)
			if status == nil {
				status = map[string]any{}
				o["status"] = status
			}
			status["inventory"] = map[string]any{"entries": entries}
		})
	}))
}

// Rewrite changes a JSON object that next answers; every other answer passes
// as it is, watches among them.
func Rewrite(change func(body map[string]any)) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
				next.ServeHTTP(w, r)
				return
			}
			answer := record(next, plain(r))
			body := answer.Body.Bytes()
			var object map[string]any
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.UseNumber()
			if answer.Code == http.StatusOK && decoder.Decode(&object) == nil {
				change(object)
				if changed, err := json.Marshal(object); err == nil {
					body = changed
				}
			}
			copyHeader(w, answer)
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(answer.Code)
			_, _ = w.Write(body)
		})
	}
}

// plain is the request with which the answer comes in JSON and not compressed.
func plain(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Accept-Encoding")
	var accepted []string
	for _, accept := range strings.Split(r.Header.Get("Accept"), ",") {
		accept = strings.TrimSpace(accept)
		if accept != "" && !strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf") && !strings.HasPrefix(accept, "application/cbor") {
			accepted = append(accepted, accept)
		}
	}
	if accepted == nil {
		accepted = []string{"application/json"}
	}
	r.Header.Set("Accept", strings.Join(accepted, ","))
	return r
}

// eachObject calls visit with the object, or with each item of a list.
func eachObject(body map[string]any, visit func(map[string]any)) {
	items, list := body["items"].([]any)
	if !list {
		visit(body)
		return
	}
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			visit(o)
		}
	}
}

// drop takes the elements of a list out of body for which out is true.
func drop(body map[string]any, key string, out func(map[string]any) bool) {
	list, ok := body[key].([]any)
	if !ok {
		return
	}
	kept := []any{}
	for _, element := range list {
		if m, ok := element.(map[string]any); !ok || !out(m) {
			kept = append(kept, element)
		}
	}
	body[key] = kept
}
