package usher

import (
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"
)

const defaultDeadline = 500 * time.Millisecond

type options struct {
	key       string
	plaintext *bool
	tls       *tls.Config
	deadline  time.Duration
	// isDeadlineGiven: by default the first call has longer, to connect.
	isDeadlineGiven bool
	log             *slog.Logger
	minRevision     string
}

// Option changes how a client is made.
type Option func(*options)

// WithKey sends the key of this caller with every call.
func WithKey(key string) Option { return func(o *options) { o.key = key } }

// WithPlaintext says whether the connection is cleartext. By default it is to loopback, and TLS to everything else.
func WithPlaintext(plaintext bool) Option { return func(o *options) { o.plaintext = &plaintext } }

// WithTLS sets the authorities, and the certificate of this caller for mutual TLS.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithDeadline bounds the time for an answer, retries included, where the context does not end before: 500 ms by
// default, without the time to connect, up to five seconds, for the first call.
func WithDeadline(deadline time.Duration) Option {
	return func(o *options) { o.deadline, o.isDeadlineGiven = deadline, true }
}

// WithLogger gets the warnings of Allowed: slog.Default() without it.
func WithLogger(log *slog.Logger) Option {
	return func(o *options) {
		if log != nil {
			o.log = log
		}
	}
}

// AskOption changes one question.
type AskOption func(*options)

// AtLeast asks for an answer that is at least as fresh as a revision: of an earlier answer, or of a write (`usher-revision`).
func AtLeast(revision string) AskOption { return func(o *options) { o.minRevision = revision } }

func minRevision(given []AskOption) string {
	var asked options
	for _, option := range given {
		if option != nil {
			option(&asked)
		}
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

// err says what no client can be made of.
func (o options) err(address string) error {
	scheme, _, found := strings.Cut(strings.ToLower(address), "://")
	switch {
	case address == "":
		return optionFault("address", "is required: host:port of the gRPC port")
	case found && slices.Contains([]string{"http", "https", "grpc", "grpcs", "tcp", "tls"}, scheme):
		return optionFault("address", "must be host:port of the gRPC port, without "+scheme+"://")
	case strings.ContainsFunc(o.key, func(r rune) bool { return r < ' ' || r > '~' }):
		return optionFault("WithKey", "must hold visible ASCII alone: a line break at its end is not of it")
	case o.deadline <= 0:
		return optionFault("WithDeadline", "must be more than zero")
	}
	return nil
}
