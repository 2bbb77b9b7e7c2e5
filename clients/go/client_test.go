package usher_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	usher "github.com/usher-service/usher-go"
)

// A service with the demonstration: test.sh starts one.
var (
	address = os.Getenv("USHER_GRPC")
	key     = os.Getenv("USHER_KEY")
	ben     = usher.Question{Email: "ben@example.com", App: "atelier", Permission: "project.access"}
	quiet   = slog.New(slog.NewTextHandler(io.Discard, nil))
)

func open(t *testing.T, at string, given ...usher.Option) *usher.Client {
	t.Helper()
	given = append([]usher.Option{usher.WithKey(key), usher.WithDeadline(10 * time.Second), usher.WithLogger(quiet)}, given...)
	client, err := usher.New(at, given...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestCheckHasLevelSourceAndRevision(t *testing.T) {
	client := open(t, address)
	question := ben
	question.Resource, question.Level = usher.Resource{Type: "project", ID: "1042"}, usher.Edit
	decision := must[usher.Decision](t)(client.Check(t.Context(), question))
	if !decision.Allowed || decision.Level != usher.Edit || decision.Source != usher.Role || decision.Revision == "" {
		t.Errorf("got %+v", decision)
	}
	if question.Email = "stranger@example.com"; client.Allowed(t.Context(), question) {
		t.Error("a stranger is allowed")
	}
}

func TestManyQuestionsAtOneRevision(t *testing.T) {
	client := open(t, address)
	subject := usher.Subject{Email: ben.Email, App: ben.App}
	codes := []string{"project.access", "invoice.access"}
	many := must[map[string]usher.Decision](t)(client.BulkCheck(t.Context(), subject, codes, usher.None))
	if !many["project.access"].Allowed || many["invoice.access"].Allowed || len(many) != 2 {
		t.Errorf("got %+v", many)
	}
	stranger := ben
	stranger.Email = "stranger@example.com"
	batch := must[[]usher.Decision](t)(client.BatchCheck(t.Context(), []usher.Question{ben, stranger}))
	if !batch[0].Allowed || batch[1].Allowed {
		t.Errorf("got %+v", batch)
	}
	held, revision, err := client.Effective(t.Context(), subject)
	if err != nil || revision == "" || !slices.ContainsFunc(held, func(one usher.Held) bool {
		return one.Permission == ben.Permission && one.Level == usher.Edit && one.Tiered
	}) {
		t.Errorf("got %+v, %v", held, err)
	}
}

func TestWhyWhoAndWhat(t *testing.T) {
	client := open(t, address)
	explanation := must[usher.Explanation](t)(client.Explain(t.Context(), ben))
	if len(explanation.Rules) != 6 || !explanation.Rules[4].Decides || !explanation.PermissionKnown {
		t.Errorf("got %+v", explanation)
	}
	var found bool
	for holder, err := range client.Subjects(t.Context(), usher.Question{App: ben.App, Permission: ben.Permission}) {
		if err != nil {
			t.Fatal(err)
		}
		found = found || holder.Email == ben.Email
	}
	if !found {
		t.Error("ben is not among those who may")
	}
	question := ben
	question.Resource.Type = "project"
	if reach := must[usher.Reach](t)(client.Resources(t.Context(), question)); !reach.All {
		t.Errorf("got %+v", reach)
	}
}

func TestAsFreshAsAsked(t *testing.T) {
	client := open(t, address)
	decision := must[usher.Decision](t)(client.Check(t.Context(), ben))
	if !client.Allowed(t.Context(), ben, usher.AtLeast(decision.Revision)) {
		t.Error("not allowed at the revision of an answer")
	}
	_, err := client.Check(t.Context(), ben, usher.AtLeast("999999.x"))
	var failure *usher.Error
	if !errors.As(err, &failure) || failure.Reason != "UNKNOWN_REVISION" || !errors.Is(err, usher.ErrInvalidQuestion) {
		t.Errorf("got %v", err)
	}
}

func TestRefusalsNameTheField(t *testing.T) {
	client := open(t, address)
	question := ben
	question.Email = ""
	_, err := client.Check(t.Context(), question)
	var failure *usher.Error
	if !errors.As(err, &failure) || len(failure.Violations) != 1 || failure.Violations[0].Field != "email" {
		t.Errorf("got %v", err)
	}
}

func TestAWrongKeyIsDenied(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	client := open(t, address, usher.WithKey("a-key-that-nobody-has"), usher.WithLogger(log))
	if _, err := client.Check(t.Context(), ben); !errors.Is(err, usher.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if client.Allowed(t.Context(), ben) {
		t.Error("allowed with a wrong key")
	}
	if text := logged.String(); !strings.Contains(text, "project.access") || strings.Contains(text, ben.Email) {
		t.Errorf("logged %q", text)
	}
}

func TestAServiceThatIsAwayIsNoAnswer(t *testing.T) {
	client := open(t, "127.0.0.1:1", usher.WithDeadline(300*time.Millisecond))
	since := time.Now()
	if _, err := client.Check(t.Context(), ben); !errors.Is(err, usher.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if client.Allowed(t.Context(), ben) || time.Since(since) > 3*time.Second {
		t.Error("allowed, or too late")
	}
}

func TestWatchBeginsWithTheNewestRevision(t *testing.T) {
	client := open(t, address)
	for changes, err := range client.Watch(t.Context(), "") {
		if err != nil || changes.Revision == "" || changes.Reset {
			t.Errorf("got %+v, %v", changes, err)
		}
		break
	}
	for _, err := range client.Watch(t.Context(), "nonsense") {
		if !errors.Is(err, usher.ErrInvalidQuestion) {
			t.Errorf("got %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for range client.Watch(ctx, "") {
		continue
	}
}

func TestGoroutinesShareAConnection(t *testing.T) {
	client := open(t, address)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if !client.Allowed(t.Context(), ben) {
				t.Error("not allowed")
			}
		})
	}
	group.Wait()
}

func TestRequire(t *testing.T) {
	guard := usher.Guard[*http.Request]{
		App:        "atelier",
		Permission: "project.access",
		Level:      usher.Edit,
		Email:      func(r *http.Request) string { return r.Header.Get("x-email") },
		Resource:   func(r *http.Request) usher.Resource { return usher.Resource{Type: "project", ID: r.PathValue("id")} },
	}
	status := func(client *usher.Client, email, id string) int {
		mux := http.NewServeMux()
		done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		mux.Handle("GET /projects/{id}", usher.Require(client, guard)(done))
		request := httptest.NewRequest(http.MethodGet, "/projects/"+id, nil)
		request.Header.Set("x-email", email)
		recorder := httptest.NewRecorder()
		mux.ServeHTTP(recorder, request)
		return recorder.Code
	}
	client, away := open(t, address), open(t, "127.0.0.1:1", usher.WithDeadline(200*time.Millisecond))
	got := []int{
		status(client, ben.Email, "7"), status(client, "clara@example.com", "1042"), status(client, "", "7"),
		status(away, ben.Email, "7"),
	}
	guard.Unavailable = true
	if got = append(got, status(away, ben.Email, "7")); !slices.Equal(got, []int{204, 403, 401, 403, 503}) {
		t.Errorf("got %v", got)
	}
}

func TestInterceptor(t *testing.T) {
	guard := usher.Guard[usher.Call]{
		App: "atelier", Permission: "project.access",
		Email: func(call usher.Call) string { return call.Request.(string) },
	}
	intercept := usher.UnaryInterceptor(open(t, address), map[string]usher.Guard[usher.Call]{"/p.S/Get": guard})
	handle := func(context.Context, any) (any, error) { return "done", nil }
	call := func(method, email string) codes.Code {
		_, err := intercept(t.Context(), email, &grpc.UnaryServerInfo{FullMethod: method}, handle)
		return status.Code(err)
	}
	got := []codes.Code{call("/p.S/Get", ben.Email), call("/p.S/Get", "stranger@example.com"), call("/p.S/Get", ""), call("/p.S/List", "")}
	want := []codes.Code{codes.OK, codes.PermissionDenied, codes.Unauthenticated, codes.OK}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
