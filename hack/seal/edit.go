package main

import (
	"bytes"
	"fmt"
	"os"
)

// edit is a change to one file of somebody else.
type edit struct {
	file     string // relative to the source's root, with slashes
	old, new string
}

// httpEdit takes the dialer out of the default HTTP client, which package
// initialisation makes whether anybody uses it or not. Without one the client
// would dial by itself, in code that the linker drops when nothing calls it.
var httpEdit = edit{
	file: "net/http/transport_default_other.go",
	old:  "\treturn dialer.DialContext\n",
	new:  "\treturn nil\n",
}

// grpcEdit takes out the import by which gRPC registers the DNS resolver of
// its clients.
var grpcEdit = edit{
	file: "clientconn.go",
	old:  "\t_ \"google.golang.org/grpc/resolver/dns\"                  // To register dns resolver.\n",
	new:  "",
}

// apply returns the edited content of a file. The text to be replaced must
// occur exactly once: anything else means that the source has changed, and
// that somebody has to look at what keeps the dialer alive now.
func (e edit) apply(file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the source to be edited: %w", err)
	}
	if n := bytes.Count(content, []byte(e.old)); n != 1 {
		return nil, fmt.Errorf("%s holds %q %d times, not once: the edit in hack/seal/edit.go has to follow the new source", e.file, e.old, n)
	}
	return bytes.Replace(content, []byte(e.old), []byte(e.new), 1), nil
}
