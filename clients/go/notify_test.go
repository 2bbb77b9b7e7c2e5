package usher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	usher "github.com/usher-service/usher-go"
)

var gateway = os.Getenv("USHER_URL")

func notifier(t *testing.T, at string, given ...usher.Option) *usher.Notifier {
	t.Helper()
	return must[*usher.Notifier](t)(usher.NewNotifier(at, append([]usher.Option{usher.WithKey(key)}, given...)...))
}

// line answers what it is told, then 503, and keeps what it was sent.
func line(t *testing.T, answers ...string) (url string, sent *[]string) {
	t.Helper()
	sent = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must[[]byte](t)(io.ReadAll(r.Body))
		*sent = append(*sent, string(body))
		answer := `503 {"success":false,"code":"UNAVAILABLE","message":"Away."}`
		if len(answers) > 0 {
			answer, answers = answers[0], answers[1:]
		}
		var status int
		_, _ = fmt.Sscanf(answer, "%d", &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer[4:])
	}))
	t.Cleanup(server.Close)
	return server.URL, sent
}

func TestANotificationIsStoredOnce(t *testing.T) {
	drawings := usher.Notification{
		App: "atelier", To: []string{"ben@example.com"}, Subject: "Drawings", IdempotencyKey: fmt.Sprint(time.Now().UnixNano()),
	}
	first := must[[]usher.Accepted](t)(notifier(t, gateway).Notify(t.Context(), drawings))
	again := must[[]usher.Accepted](t)(notifier(t, gateway).Notify(t.Context(), drawings))
	if len(first) != 1 || first[0].Email != "ben@example.com" || first[0].ID != again[0].ID {
		t.Errorf("got %+v, then %+v", first, again)
	}
	drawings.Subject = "Others"
	_, err := notifier(t, gateway).Notify(t.Context(), drawings)
	var failure *usher.Error
	if !errors.As(err, &failure) || failure.Code != codes.AlreadyExists || failure.Reason != "IDEMPOTENCY_KEY_REUSED" || failure.RequestID == "" {
		t.Errorf("got %v", err)
	}
	_, err = notifier(t, gateway).Notify(t.Context(), usher.Notification{App: "atelier", To: []string{"not an address"}, Subject: "x"})
	if !errors.Is(err, usher.ErrInvalidQuestion) || !errors.As(err, &failure) || failure.Violations[0].Field != "recipients.0" {
		t.Errorf("got %v", err)
	}
	if _, err := notifier(t, gateway, usher.WithKey("a-key-that-nobody-has")).Notify(t.Context(), drawings); !errors.Is(err, usher.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

func TestWithAKeyOfItsOwnItIsSentAgainAsItWas(t *testing.T) {
	stored := `202 {"success":true,"data":{"notifications":[{"id":1,"email":"a@b.example","status":"queued","statusReason":null}]}}`
	url, sent := line(t, `503 {}`, `502 <html>`, stored)
	whole := usher.Notification{
		App: "a", To: []string{"a@b.example"}, Type: "t", Subject: "s", Body: "b", URL: "/u", Icon: "/i", Locale: "cs",
		TemplateKey: "k", Payload: map[string]any{"n": 1}, IdempotencyKey: "x",
	}
	accepted := must[[]usher.Accepted](t)(notifier(t, url).Notify(t.Context(), whole))
	if accepted[0].Status != "queued" || accepted[0].StatusReason != "" || len(*sent) != 3 || (*sent)[0] != (*sent)[2] {
		t.Errorf("got %+v after %v", accepted, *sent)
	}
	var said map[string]any
	if err := json.Unmarshal([]byte((*sent)[0]), &said); err != nil || len(said) != 11 || said["appCode"] != "a" || said["templateKey"] != "k" {
		t.Errorf("sent %v", said)
	}
}

func TestWithoutOneAndAfterARefusalNothingIsSentAgain(t *testing.T) {
	url, sent := line(t, `503 {"message":"Away."}`, `413 {"code":"PAYLOAD_TOO_LARGE","message":"Too large."}`)
	plain := usher.Notification{App: "a", To: []string{"a@b.example"}}
	if _, err := notifier(t, url).Notify(t.Context(), plain); !errors.Is(err, usher.ErrUnavailable) || !strings.Contains(err.Error(), "Away.") {
		t.Errorf("got %v", err)
	}
	plain.IdempotencyKey = "x"
	if _, err := notifier(t, url).Notify(t.Context(), plain); err == nil || !strings.Contains(err.Error(), "Too large.") {
		t.Errorf("got %v", err)
	}
	if len(*sent) != 2 {
		t.Errorf("sent %v", *sent)
	}
}

func TestWhatANotifierIsMadeOfIsReadStrictly(t *testing.T) {
	for url, given := range map[string][]usher.Option{
		"":                            {usher.WithKey("k")},
		"localhost:8080":              {usher.WithKey("k")},
		"https://example.com/usher":   {usher.WithKey("k")},
		"https://usher.example.com":   {},
		"https://usher.example.com/":  {usher.WithKey("two\nlines")},
		"https://usher2.example.com/": {usher.WithKey("k"), usher.WithPlaintext(true)},
	} {
		if _, err := usher.NewNotifier(url, given...); !errors.Is(err, usher.ErrInvalidQuestion) {
			t.Errorf("%q: %v", url, err)
		}
	}
	url, sent := line(t)
	for _, wrong := range []usher.Notification{
		{To: []string{"a@b.example"}},
		{App: "a"},
		{App: "a", To: []string{""}},
		{App: "a", To: []string{"a@b.example"}, Payload: map[string]any{"f": func() {}}},
	} {
		if _, err := notifier(t, url).Notify(t.Context(), wrong); !errors.Is(err, usher.ErrInvalidQuestion) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if len(*sent) > 0 {
		t.Errorf("sent %v", *sent)
	}
}

func TestAnAddressThatIsNotThatOfRESTIsSaid(t *testing.T) {
	url, _ := line(t, `200 a page`)
	for _, at := range []string{url, "http://" + address, "http://127.0.0.1:1"} {
		_, err := notifier(t, at, usher.WithDeadline(2*time.Second)).Notify(t.Context(), usher.Notification{App: "a", To: []string{"a@b.example"}})
		if !errors.Is(err, usher.ErrUnavailable) || !strings.Contains(err.Error(), "8080") {
			t.Errorf("%s: %v", at, err)
		}
	}
}
