package reachv1

import (
	"strings"
	"testing"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/proto"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"größe":          "größe",
		"a\xff":          `a\xff`,
		"\xc3":           `\xc3`,
		"\xc3\xa9\xa9":   `é\xa9`,
		`a\xff`:          `a\xff`,
		"\ufffd":         "\ufffd",
		"a\x00b":         "a\x00b",
		"\xed\xa0\x80":   `\xed\xa0\x80`,
		"x\xf0\x9f\x98":  `x\xf0\x9f\x98`,
		"/a\xfe/b\xff.y": `/a\xfe/b\xff.y`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
		if back := Bytes(want); in != want && back != in {
			t.Errorf("Bytes(%q) = %q, want %q", want, back, in)
		}
	}
	// What Text never makes stays as it is.
	for _, s := range []string{`a\x41`, `\xc3\xa9`, `\xFF`, `\xf`, `\x`, `\\xf`, "plain"} {
		if got := Bytes(s); got != s {
			t.Errorf("Bytes(%q) = %q", s, got)
		}
	}
}

// TestCodec puts a byte that is not UTF-8 into each kind of field.
func TestCodec(t *testing.T) {
	bad := &CensusResponse{Event: &CensusResponse_Summary{Summary: &Summary{
		Notes:    []string{"fine", "n\xff"},
		Clusters: []*Cluster{{Name: "c\xff", Shape: &ClusterShape{IngressDomains: map[string]string{"k\xff": "v\xff", "k": "v"}}}},
		Packs:    []*Pack{{Kinds: map[string]int32{"Kind\xff": 7, "Kind": 1}}},
	}}}
	want := &CensusResponse{Event: &CensusResponse_Summary{Summary: &Summary{
		Notes:    []string{"fine", `n\xff`},
		Clusters: []*Cluster{{Name: `c\xff`, Shape: &ClusterShape{IngressDomains: map[string]string{`k\xff`: `v\xff`, "k": "v"}}}},
		Packs:    []*Pack{{Kinds: map[string]int32{`Kind\xff`: 7, "Kind": 1}}},
	}}}
	if _, err := encoding.GetCodecV2("proto").Marshal(bad); err == nil || !strings.Contains(err.Error(), "invalid UTF-8") {
		t.Fatalf("the plain codec takes the message: %v", err)
	}
	for _, m := range []*CensusResponse{want, bad} {
		out, err := Codec().Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := &CensusResponse{}
		if err := Codec().Unmarshal(out, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	}
	if _, err := Codec().Marshal("no message"); err == nil {
		t.Error("a string is no message")
	}
}
