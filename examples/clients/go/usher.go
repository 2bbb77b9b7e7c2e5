package main

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// While a call is UNAVAILABLE it is retried, with back-off, within its deadline. Questions only read, so a second try is safe.
// During an outage the throttle stops the retries, instead of tripling the load.
const serviceConfig = `{
  "methodConfig": [{
    "name": [{"service": "usher.permission.v1.PermissionService"}],
    "retryPolicy": {
      "maxAttempts": 3,
      "initialBackoff": "0.05s",
      "maxBackoff": "0.2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }],
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

// Options says where the service is and how to speak to it.
type Options struct {
	// Address is host:port, or any gRPC target such as dns:///usher.internal:50051.
	Address string
	// Key is the internal API key, where the service has any.
	Key string
	// CAFile names the certificate authority of the service, in PEM. Without it the connection is cleartext: loopback only.
	CAFile string
	// Deadline is how long one call may take, its retries included.
	Deadline time.Duration
}

// Dial makes the one connection of the process, shared by all calls: every call on it carries the key and a deadline.
func Dial(options Options) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if options.CAFile != "" {
		var err error
		if security, err = credentials.NewClientTLSFromFile(options.CAFile, ""); err != nil {
			return nil, err
		}
	}
	return grpc.NewClient(options.Address,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithUnaryInterceptor(withKeyAndDeadline(options.Key, options.Deadline)),
		// A dead peer is noticed within 35 s, also while nothing is asked; without pings the next calls would wait in vain.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                30 * time.Second,
			Timeout:             5 * time.Second,
			PermitWithoutStream: true,
		}),
	)
}

// withKeyAndDeadline leaves an earlier deadline of the caller's as it is.
func withKeyAndDeadline(key string, deadline time.Duration) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-internal-api-key", key)
		}
		return invoke(ctx, method, request, reply, conn, options...)
	}
}

// Ready waits for the first connection, so that the deadline of the first question is not spent on it.
// False: there was none before ctx ended.
func Ready(ctx context.Context, conn *grpc.ClientConn) bool {
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
	return true
}

// Reason is the stable reason of a failed call. An error is not an answer: the person is denied for this request, because the
// getters of the nil response grant nothing. The reason is google.rpc.ErrorInfo's,
// else the name of the gRPC status.
func Reason(err error) string {
	failure := status.Convert(err)
	for _, detail := range failure.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == "usher" {
			return info.Reason
		}
	}
	return code.Code(failure.Code()).String()
}
