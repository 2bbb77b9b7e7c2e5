package usher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/connectivity"

	permissionv1 "github.com/usher-service/usher-go/internal/gen/usher/permission/v1"
)

const (
	// firstDeadline is for connecting and answering together, until something has answered.
	firstDeadline = 5 * time.Second
	readyDeadline = 10 * time.Second
	readyPause    = 100 * time.Millisecond
)

// beginning is what a client knows before its first answer.
type beginning struct {
	answered atomic.Bool
}

// deadline is how long a call may take by default. Until something has answered, the time to connect is left out: a connection that
// is refused, which is trouble, is no such time.
func (c *Client) deadline(ctx context.Context) time.Duration {
	if c.options.isDeadlineGiven || c.beginning.answered.Load() {
		return c.options.deadline
	}
	until := time.Now().Add(firstDeadline)
	connecting, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	c.conn.Connect()
	for state := c.conn.GetState(); ; state = c.conn.GetState() {
		switch {
		case state == connectivity.Ready:
			return max(c.options.deadline, time.Until(until))
		case state == connectivity.TransientFailure, state == connectivity.Shutdown, !c.conn.WaitForStateChange(connecting, state):
			return c.options.deadline
		}
	}
}

// toError makes an *Error that says, where nothing has ever answered, what may be the matter.
func (c *Client) toError(err error) error {
	failure := toError(err)
	if !errors.Is(failure, ErrUnavailable) {
		c.beginning.answered.Store(true)
		return failure
	}
	var made *Error
	if !c.beginning.answered.Load() && errors.As(failure, &made) {
		security := "TLS"
		if c.isCleartext {
			security = "cleartext"
		}
		made.Message += fmt.Sprintf(
			". Nothing at %s has answered this client yet: is it the port of gRPC (50051 by default; REST has another, 8080), and does it speak %s?",
			c.address, security)
	}
	return failure
}

// Ready connects, and returns once the service has answered, at the latest after ten seconds where ctx has no earlier end: then the
// first question takes no longer than the others. The error says what is wrong with an address, a certificate or a key.
func (c *Client) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	for {
		// A question about nobody: the answer is no.
		nobody := &permissionv1.CheckRequest{Email: "nobody@usher.invalid", App: "usher", Permission: "ready"}
		_, err := c.stub.Check(c.outgoing(ctx), nobody)
		failure := c.toError(err)
		if failure == nil || errors.Is(failure, ErrInvalidQuestion) {
			return nil
		}
		if !errors.Is(failure, ErrUnavailable) || ctx.Err() != nil {
			return failure
		}
		select {
		case <-ctx.Done():
			return failure
		case <-time.After(readyPause):
		}
	}
}
