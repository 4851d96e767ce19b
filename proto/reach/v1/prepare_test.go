package reachv1

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Messages are what they are, prepared or not, also while they are prepared.
func TestPrepare(t *testing.T) {
	m := &CensusResponse{Event: &CensusResponse_Progress{Progress: &Progress{Done: 3}}}
	done := make(chan struct{})
	go func() { Prepare(); close(done) }()
	for range 2 {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := &CensusResponse{}
		if err := proto.Unmarshal(b, got); err != nil || !proto.Equal(m, got) {
			t.Errorf("got %v, %v", prototext.Format(got), err)
		}
		<-done
	}
}
