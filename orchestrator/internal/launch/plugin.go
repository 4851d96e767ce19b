package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// newClient has go-plugin manage the child. Three things differ from its
// usual ways, because the wire is plain gRPC that any tool can speak:
//
//   - the handshake line and the digest are the runner's business;
//   - the connection is the child's stdio, so the dialer returns it, once;
//   - go-plugin's own services (broker, stdio, controller) are answered here
//     and never reach the child.
func newClient(p *process, o Options) *plugin.Client {
	return plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: 1},
		Plugins:          plugin.PluginSet{program: servicePlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		StartTimeout:     o.Deadlines.Start,
		Logger:           childLog{Logger: o.Log},
		RunnerFunc: func(_ hclog.Logger, _ *exec.Cmd, dir string) (runner.Runner, error) {
			// The command is go-plugin's idea of the child, with a magic
			// cookie in its environment; the directory is for sockets.
			// Neither is used.
			_ = os.Remove(dir)
			return p, nil
		},
		GRPCDialOptions: dialOptions(p, o),
	})
}

// dialOptions come after go-plugin's and so replace them.
func dialOptions(p *process, o Options) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(dialer(p)),
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 2 * o.Deadlines.Start}),
		grpc.WithIdleTimeout(0), // the connection cannot be made again
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent("reach"),
		grpc.WithMaxHeaderListSize(64 << 10),
		// What the child may send before the caller takes it.
		grpc.WithStaticStreamWindowSize(1 << 20),
		grpc.WithStaticConnWindowSize(1 << 20),
		grpc.WithDefaultCallOptions(
			// What the user types may be any bytes.
			grpc.ForceCodecV2(reachv1.Codec()),
			grpc.MaxCallRecvMsgSize(o.Limits.MessageBytes),
			grpc.MaxCallSendMsgSize(reachv1.MaxRequestBytes)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if method == "/plugin.GRPCController/Shutdown" {
				// How this protocol asks the child to end.
				return p.conn.CloseWrite()
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if strings.HasPrefix(method, "/plugin.") {
				return nil, status.Error(codes.Unimplemented, method)
			}
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
}

func dialer(p *process) func(context.Context, string) (net.Conn, error) {
	var used atomic.Bool
	return func(context.Context, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection to the analyser has ended")
		}
		return p.conn, nil
	}
}

// servicePlugin is what go-plugin dispenses: the client of the service on the
// one connection.
type servicePlugin struct {
	plugin.NetRPCUnsupportedPlugin
}

func (servicePlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the analyser is served by another program")
}

func (servicePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return reachv1.NewAnalyserServiceClient(cc), nil
}
