package stdio

import (
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// ServerOptions are the limits under which one peer is served: requests up to
// the size that the protocol allows, few streams at once, headers of ordinary
// size, and a peer that sends nothing at all after connecting is given up. No
// string that is not UTF-8 ends a call.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(reachv1.MaxRequestBytes),
		grpc.MaxSendMsgSize(reachv1.MaxResponseBytes),
		grpc.MaxConcurrentStreams(8),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.ConnectionTimeout(time.Minute),
		grpc.ForceServerCodecV2(reachv1.Codec()),
	}
}

// Serve answers the peer of c until it closes its side or breaks the
// connection, which is the ordinary end and returns nil, or until s is
// stopped, which returns nil as well. Handlers that still run have their
// contexts cancelled and are not waited for: the process is about to end.
func Serve(s *grpc.Server, c *Conn) error {
	err := s.Serve(Listen(c))
	s.Stop()
	c.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serving on standard input and output: %w", err)
	}
	return nil
}
