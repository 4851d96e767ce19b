// Package api is the least of a client of the Kubernetes API, in JSON: what
// tests need to look at a cluster and to change it, without the weight of
// client-go.
package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// An Object is an object of the API as it came.
type Object = map[string]any

// A Client is a client of one server, by a token.
type Client struct {
	Server string // https://127.0.0.1:12345
	Token  string
	CA     []byte // PEM
	http   *http.Client
}

// An Error is what a server answered that is no success.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// IsCode reports whether the server answered with that code.
func IsCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// New is a client of the server with that certificate.
func New(server, token string, ca []byte) *Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &Client{Server: server, Token: token, CA: ca, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
	}}
}

// FromKubeconfig is the client of a kubeconfig as testcluster writes it: one
// cluster, one user with a token, the certificate inline.
func FromKubeconfig(path string) (*Client, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	field := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimLeft(line, "- ")), ": ")
		if ok {
			field[key] = value
		}
	}
	ca, err := base64.StdEncoding.DecodeString(field["certificate-authority-data"])
	if err != nil || field["server"] == "" || field["token"] == "" {
		return nil, fmt.Errorf("%s is not a kubeconfig of testcluster", path)
	}
	return New(field["server"], field["token"], ca), nil
}

// WithToken is a client of the same server by another token.
func (c *Client) WithToken(token string) *Client { return New(c.Server, token, c.CA) }

// Transport trusts the server.
func (c *Client) Transport() http.RoundTripper { return c.http.Transport }

// Get reads an object or a list.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	return c.do(ctx, http.MethodGet, path, "", nil)
}

// Create posts an object to the path of its list.
func (c *Client) Create(ctx context.Context, path string, o any) (Object, error) {
	return c.do(ctx, http.MethodPost, path, "application/json", o)
}

// Replace puts an object in place of what is there.
func (c *Client) Replace(ctx context.Context, path string, o any) (Object, error) {
	return c.do(ctx, http.MethodPut, path, "application/json", o)
}

// Merge changes an object by a JSON merge patch.
func (c *Client) Merge(ctx context.Context, path string, patch any) (Object, error) {
	return c.do(ctx, http.MethodPatch, path, "application/merge-patch+json", patch)
}

// Apply is a server-side apply by a field manager, which takes over what
// others own.
func (c *Client) Apply(ctx context.Context, path, manager string, o any) (Object, error) {
	return c.do(ctx, http.MethodPatch, path+"?force=true&fieldManager="+manager, "application/apply-patch+yaml", o)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, path string) error {
	_, err := c.do(ctx, http.MethodDelete, path, "", nil)
	return err
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body any) (Object, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Server+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "live")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var o Object
	if err := json.Unmarshal(data, &o); err != nil && response.StatusCode < 300 {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		message, _ := o["message"].(string)
		return nil, fmt.Errorf("%s %s: %w", method, path, &Error{Code: response.StatusCode, Message: message})
	}
	return o, nil
}

// At is what stands in an object below these keys, nil when nothing does.
func At(o any, keys ...string) any {
	for _, key := range keys {
		m, ok := o.(map[string]any)
		if !ok {
			return nil
		}
		o = m[key]
	}
	return o
}

// String is the text below these keys, "" when there is none.
func String(o any, keys ...string) string {
	s, _ := At(o, keys...).(string)
	return s
}

// Items are the objects of a list.
func Items(list Object) []Object {
	items, _ := list["items"].([]any)
	var objects []Object
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

// PathOf is the path of an object, whose kind the server has to serve.
func (c *Client) PathOf(ctx context.Context, o Object) (string, error) {
	apiVersion, kind := String(o, "apiVersion"), String(o, "kind")
	prefix := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		prefix = "/api/" + apiVersion
	}
	list, err := c.Get(ctx, prefix)
	if err != nil {
		return "", err
	}
	resources, _ := list["resources"].([]any)
	for _, r := range resources {
		plural := String(r, "name")
		if String(r, "kind") != kind || strings.Contains(plural, "/") {
			continue
		}
		if namespaced, _ := At(r, "namespaced").(bool); namespaced {
			prefix += "/namespaces/" + String(o, "metadata", "namespace")
		}
		return prefix + "/" + plural + "/" + String(o, "metadata", "name"), nil
	}
	return "", fmt.Errorf("%s %s is not served", apiVersion, kind)
}

// ApplyWhole applies an object with its status, which an ordinary apply leaves
// out.
func (c *Client) ApplyWhole(ctx context.Context, manager string, o Object) error {
	path, err := c.PathOf(ctx, o)
	if err != nil {
		return err
	}
	if _, err := c.Apply(ctx, path, manager, o); err != nil {
		return err
	}
	if o["status"] == nil {
		return nil
	}
	_, err = c.Apply(ctx, path+"/status", manager, o)
	return err
}
