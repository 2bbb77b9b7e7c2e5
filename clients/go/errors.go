package usher

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The kinds of errors that a caller acts on, for errors.Is.
var (
	// ErrUnavailable: away, too slow, or knows too little for now. Until a later try succeeds nobody is allowed anything.
	ErrUnavailable = errors.New("usher: unavailable")
	// ErrDenied: the key is missing, wrong, or lacks the scope.
	ErrDenied = errors.New("usher: denied")
	// ErrInvalidQuestion: the question or an option is malformed, or names a code that a strict application does not define.
	ErrInvalidQuestion = errors.New("usher: invalid question")
)

// Violation is what is wrong with a field.
type Violation struct {
	Field, Message string
}

// Error is why there is no answer, for errors.As.
type Error struct {
	// Code is the status of gRPC.
	Code codes.Code
	// Reason is stable, from the service's table of errors; the name of the status where there is none.
	Reason     string
	Message    string
	Violations []Violation
	// Details belong to the reason: of UNKNOWN_CODE the path, and the known code that was probably meant.
	Details map[string]string
	// RequestID is that of the service's log; of notifications alone.
	RequestID string
	cause     error
	// isOwn: this package refuses the question, and nothing was sent.
	isOwn bool
}

func (e *Error) Error() string { return "usher: " + e.Reason + ": " + e.Message }

// Unwrap gives the kind, and the error of grpc-go.
func (e *Error) Unwrap() []error {
	kinds := map[codes.Code]error{
		codes.Unavailable:       ErrUnavailable,
		codes.DeadlineExceeded:  ErrUnavailable,
		codes.ResourceExhausted: ErrUnavailable,
		codes.Unauthenticated:   ErrDenied,
		codes.PermissionDenied:  ErrDenied,
		codes.InvalidArgument:   ErrInvalidQuestion,
	}
	var wrapped []error
	if kind, ok := kinds[e.Code]; ok {
		wrapped = append(wrapped, kind)
	}
	if e.cause != nil {
		wrapped = append(wrapped, e.cause)
	}
	return wrapped
}

// reasonOf is the name of a status: DEADLINE_EXCEEDED.
func reasonOf(status codes.Code) string { return code.Code(status).String() }

// toError makes an *Error of what a call of grpc-go ended in; nil stays nil.
func toError(err error) error {
	if err == nil {
		return nil
	}
	failure := status.Convert(err)
	made := &Error{Code: failure.Code(), Reason: reasonOf(failure.Code()), Message: failure.Message(), cause: err}
	for _, detail := range failure.Details() {
		switch about := detail.(type) {
		case *errdetails.ErrorInfo:
			if about.GetDomain() == "usher" {
				made.Reason, made.Details = about.GetReason(), about.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, one := range about.GetFieldViolations() {
				made.Violations = append(made.Violations, Violation{Field: one.GetField(), Message: one.GetDescription()})
			}
		}
	}
	return made
}
