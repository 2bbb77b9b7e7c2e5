package usher

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

const (
	notifyDeadline = 5 * time.Second
	notifyPath     = "/api/internal/notifications"
	notifyTries    = 3
	notifyAgain    = 200 * time.Millisecond
	// mostAnswer bounds what is read of an answer, in bytes: a thousand addresses take a fifth of it.
	mostAnswer = 1 << 20
)

// Notification is what Notifier sends. App and To are required; what is empty is left out.
type Notification struct {
	// App is the code of the application that sends it.
	App string `json:"appCode"`
	// To has 1 to 1,000 addresses.
	To []string `json:"recipients"`
	// Type is `generic` by default.
	Type    string `json:"type,omitempty"`
	Subject string `json:"subject,omitempty"`
	Body    string `json:"body,omitempty"`
	// URL is a URL, or a path of the application; so is Icon.
	URL  string `json:"url,omitempty"`
	Icon string `json:"icon,omitempty"`
	// Locale is a language for all; without one each person's own.
	Locale      string `json:"locale,omitempty"`
	TemplateKey string `json:"templateKey,omitempty"`
	// Payload is that of the type's template.
	Payload map[string]any `json:"payload,omitempty"`
	// IdempotencyKey: the same key again sends nothing again. Without one nothing is tried again.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// Accepted is what became of a notification for one address. It is stored: then it will be delivered.
type Accepted struct {
	ID           int64  `json:"id"`
	Email        string `json:"email"`
	Status       string `json:"status"`
	StatusReason string `json:"statusReason"`
}

// Notifier sends notifications over REST: inbox, e-mail and push, as their types and preferences say. Make one for the whole process.
type Notifier struct {
	origin   string
	key      string
	deadline time.Duration
	http     *http.Client
}

// NewNotifier makes a notifier of the URL of the gateway, such as `https://usher.example.com`, and of a key with the scope `notify`
// (WithKey). WithTLS and WithDeadline change it: 5 s by default, retries included.
func NewNotifier(gateway string, given ...Option) (*Notifier, error) {
	made := options{deadline: notifyDeadline}
	for _, option := range given {
		if option == nil {
			return nil, optionFault("option", "must not be nil")
		}
		option(&made)
	}
	origin, err := originOf(gateway)
	switch {
	case err != nil:
		return nil, err
	case made.key == "":
		return nil, optionFault("WithKey", "is required")
	case made.plaintext != nil:
		return nil, optionFault("WithPlaintext", "is said by the URL: http or https")
	}
	if err := made.err(strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")); err != nil {
		return nil, err
	}
	return &Notifier{origin: origin, key: made.key, deadline: made.deadline, http: clientOf(made.tls)}, nil
}

func originOf(gateway string) (string, error) {
	if gateway == "" {
		return "", optionFault("url", "is required")
	}
	parsed, err := url.Parse(gateway)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", optionFault("url", "must be a URL, such as https://usher.example.com")
	}
	if strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", optionFault("url", "must have no path: it is the address of the gateway, such as https://usher.example.com")
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

func clientOf(config *tls.Config) *http.Client {
	made := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if shared, ok := http.DefaultTransport.(*http.Transport); ok {
		own := shared.Clone()
		own.TLSClientConfig = config
		made.Transport = own
	}
	return made
}

// Notify returns once the service has stored the notification. With an IdempotencyKey it is tried again while the service is away or
// busy, and sends once. Its error is an *Error, as those of questions.
func (n *Notifier) Notify(ctx context.Context, notification Notification) ([]Accepted, error) {
	body, err := notification.content()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, n.deadline)
	defer cancel()
	tries := 1
	if notification.IdempotencyKey != "" {
		tries = notifyTries
	}
	for {
		accepted, isPassing, err := n.send(ctx, body)
		if tries--; err == nil || !isPassing || tries == 0 || ctx.Err() != nil {
			return accepted, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(notifyAgain/2 + rand.N(notifyAgain/2)):
		}
	}
}

func (n Notification) content() ([]byte, error) {
	var found faults
	found.text("App", n.App)
	if len(n.To) < 1 || len(n.To) > mostQuestions {
		found.add("To", fmt.Sprintf("must hold 1 to %d addresses", mostQuestions))
	}
	for index, address := range n.To {
		found.text(fmt.Sprintf("To[%d]", index), address)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(n)
	if err != nil {
		return nil, optionFault("Payload", "must be JSON: "+err.Error())
	}
	return body, nil
}

// send makes one attempt. isPassing: the same request may succeed, by itself.
func (n *Notifier) send(ctx context.Context, body []byte) (accepted []Accepted, isPassing bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.origin+notifyPath, bytes.NewReader(body))
	if err != nil {
		return nil, false, optionFault("url", err.Error())
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-internal-api-key", n.key)
	response, err := n.http.Do(request)
	if err != nil {
		return nil, true, n.noAnswer(err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, true, n.noAnswer(err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		passing := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
		return nil, slices.Contains(passing, response.StatusCode), refusal(response, text)
	}
	var answer struct {
		Data *struct {
			Notifications []Accepted `json:"notifications"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Data == nil {
		return nil, true, n.noAnswer(errors.Join(errors.New("the answer is not that of a send"), err))
	}
	return answer.Data.Notifications, false, nil
}

func (n *Notifier) noAnswer(cause error) *Error {
	code, late := codes.Unavailable, ""
	if errors.Is(cause, context.DeadlineExceeded) {
		code, late = codes.DeadlineExceeded, ", within the deadline"
	}
	if errors.Is(cause, context.Canceled) {
		code = codes.Canceled
	}
	message := fmt.Sprintf("%s did not answer as Usher's gateway does%s. Is it the address of REST (port 8080 by default; gRPC has another, 50051), and is it http or https as there?", n.origin, late)
	return &Error{Code: code, Reason: reasonOf(code), Message: message, cause: cause}
}

// refusal is the error of an answer that is no success: of a proxy often no JSON, and then its status has to do.
func refusal(response *http.Response, text []byte) *Error {
	var body struct {
		Message   string
		RequestID string
		Details   map[string]json.RawMessage
	}
	_ = json.Unmarshal(text, &body)
	code, known := httpCodes[response.StatusCode]
	if !known {
		code = codes.FailedPrecondition
		if response.StatusCode > http.StatusInternalServerError {
			code = codes.Unavailable
		}
	}
	made := &Error{Code: code, Reason: reasonOf(code), Message: body.Message, RequestID: body.RequestID, Details: map[string]string{}}
	if made.Message == "" {
		made.Message = fmt.Sprintf("%s answered %d", response.Request.URL.Host, response.StatusCode)
	}
	for name, raw := range body.Details {
		switch name {
		case "code":
			_ = json.Unmarshal(raw, &made.Reason)
		case "issues":
			var issues []struct{ Path, Message string }
			_ = json.Unmarshal(raw, &issues)
			for _, one := range issues {
				made.Violations = append(made.Violations, Violation{Field: one.Path, Message: one.Message})
			}
		case "more":
		default:
			var plain string
			if json.Unmarshal(raw, &plain) != nil {
				plain = string(raw)
			}
			made.Details[name] = plain
		}
	}
	return made
}

// The statuses of gRPC that stand for those of HTTP (docs/reference/errors.md#codes).
var httpCodes = map[int]codes.Code{
	400: codes.InvalidArgument,
	401: codes.Unauthenticated,
	403: codes.PermissionDenied,
	404: codes.NotFound,
	405: codes.Unimplemented,
	409: codes.AlreadyExists,
	412: codes.Aborted,
	413: codes.ResourceExhausted,
	415: codes.InvalidArgument,
	422: codes.InvalidArgument,
	429: codes.ResourceExhausted,
	500: codes.Internal,
}
