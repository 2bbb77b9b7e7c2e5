package usher

import (
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"time"
)

const defaultDeadline = 500 * time.Millisecond

type options struct {
	key         string
	plaintext   *bool
	tls         *tls.Config
	deadline    time.Duration
	log         *slog.Logger
	minRevision string
}

// Option changes how a client is made.
type Option func(*options)

// WithKey sends the key of this caller with every call.
func WithKey(key string) Option { return func(o *options) { o.key = key } }

// WithPlaintext says whether the connection is cleartext. By default it is to loopback, and TLS to everything else.
func WithPlaintext(plaintext bool) Option { return func(o *options) { o.plaintext = &plaintext } }

// WithTLS sets the authorities, and the certificate of this caller for mutual TLS.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithDeadline bounds the time for an answer, retries included, where the context does not end before: 500 ms by default.
func WithDeadline(deadline time.Duration) Option { return func(o *options) { o.deadline = deadline } }

// WithLogger gets the warnings of Allowed: slog.Default() without it.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// AskOption changes one question.
type AskOption func(*options)

// AtLeast asks for an answer that is at least as fresh as a revision: of an earlier answer, or of a write (`usher-revision`).
func AtLeast(revision string) AskOption { return func(o *options) { o.minRevision = revision } }

func minRevision(given []AskOption) string {
	var asked options
	for _, option := range given {
		option(&asked)
	}
	return asked.minRevision
}

func (o options) isCleartext(address string) bool {
	if o.plaintext != nil {
		return *o.plaintext
	}
	return o.tls == nil && isLoopback(address)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address[strings.LastIndex(address, "/")+1:])
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
