package usher

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Guard says what a caller must be allowed.
type Guard[Request any] struct {
	App        string
	Permission string
	Level      Level
	// Email gives the caller's address, from whatever has authenticated them; empty: nobody.
	Email func(Request) string
	// Resource gives the record that a request is about; nil: none. Where it gives the zero value the question is malformed: 500.
	Resource func(Request) Resource
	// Unavailable says whether trouble is 503, or UNAVAILABLE; otherwise it is a denial.
	Unavailable bool
}

func (g Guard[Request]) judge(ctx context.Context, client *Client, request Request) codes.Code {
	if client == nil || g.Email == nil {
		slog.ErrorContext(ctx, "usher: a guard without a client or without Email; refused", "app", g.App, "permission", g.Permission)
		return codes.Internal
	}
	email := g.Email(request)
	if email == "" {
		return codes.Unauthenticated
	}
	question := Question{Email: email, App: g.App, Permission: g.Permission, Level: g.Level}
	err := error(nil)
	if g.Resource != nil {
		if question.Resource = g.Resource(request); question.Resource == (Resource{}) {
			err = optionFault("resource", "gave none: a guard with Resource asks about a record")
		}
	}
	var decision Decision
	if err == nil {
		decision, err = client.Check(ctx, question)
	}
	var failure *Error
	switch {
	case errors.As(err, &failure) && failure.isOwn:
		client.options.log.ErrorContext(ctx, "usher: a guard cannot ask; refused", "app", g.App, "permission", g.Permission, "error", err)
		return codes.Internal
	case err == nil && decision.Allowed:
		return codes.OK
	case g.Unavailable && errors.Is(err, ErrUnavailable):
		return codes.Unavailable
	default:
		return codes.PermissionDenied
	}
}

// Require lets only those through who are allowed: nobody signed in is 401, everything else that is not allowed 403. A request for which
// the question is malformed is 500, and an error in the log.
func Require(client *Client, guard Guard[*http.Request]) func(http.Handler) http.Handler {
	refusals := map[codes.Code]int{
		codes.Unauthenticated:  http.StatusUnauthorized,
		codes.PermissionDenied: http.StatusForbidden,
		codes.Unavailable:      http.StatusServiceUnavailable,
		codes.Internal:         http.StatusInternalServerError,
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			verdict := guard.judge(r.Context(), client, r)
			if verdict == codes.OK {
				next.ServeHTTP(w, r)
				return
			}
			refusal := refusals[verdict]
			http.Error(w, http.StatusText(refusal), refusal)
		})
	}
}

// Call is what a guard of gRPC gets to see.
type Call struct {
	Context context.Context
	// Method is `/package.Service/Method`.
	Method string
	// Request is nil for a stream.
	Request any
}

// UnaryInterceptor guards the methods of a server of gRPC that are named; others go through.
func UnaryInterceptor(client *Client, guards map[string]Guard[Call]) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := judgeCall(client, guards, Call{ctx, info.FullMethod, request}); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}
}

// StreamInterceptor is the same for streams, which are judged when they are opened.
func StreamInterceptor(client *Client, guards map[string]Guard[Call]) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if err := judgeCall(client, guards, Call{stream.Context(), info.FullMethod, nil}); err != nil {
			return err
		}
		return handle(server, stream)
	}
}

func judgeCall(client *Client, guards map[string]Guard[Call], call Call) error {
	guard, ok := guards[call.Method]
	if !ok {
		return nil
	}
	if verdict := guard.judge(call.Context, client, call); verdict != codes.OK {
		return status.Error(verdict, "not allowed")
	}
	return nil
}
