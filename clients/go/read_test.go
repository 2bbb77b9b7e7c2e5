package usher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	usher "github.com/usher-service/usher-go"
)

// untouched is a client of a listener that fails the test where anything connects to it: what is wrong is refused before it is sent.
func untouched(t *testing.T) *usher.Client {
	t.Helper()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if connection, err := listener.Accept(); err == nil {
			t.Error("something was sent")
			_ = connection.Close()
		}
	}()
	return open(t, listener.Addr().String())
}

// one thing that is wrong with a question, and the member that the error names.
type fault struct {
	field string
	spoil func(*usher.Question)
}

var faulty = []fault{
	{"email", func(q *usher.Question) { q.Email = "" }},
	{"email", func(q *usher.Question) { q.Email = "\xff@example.com" }},
	{"app", func(q *usher.Question) { q.App = "" }},
	{"app", func(q *usher.Question) { q.App = "a\xc3" }},
	{"permission", func(q *usher.Question) { q.Permission = "" }},
	{"resource.id", func(q *usher.Question) { q.Resource = usher.Resource{Type: "ticket"} }},
	{"resource.type", func(q *usher.Question) { q.Resource = usher.Resource{ID: "42"} }},
	{"resource.id", func(q *usher.Question) { q.Resource = usher.Resource{Type: "ticket", ID: "\xf0\x28"} }},
	{"level", func(q *usher.Question) { q.Level = usher.Allowed }},
	{"level", func(q *usher.Question) { q.Level = usher.Level(rand.IntN(100) + 4) }},
	{"level", func(q *usher.Question) { q.Level = usher.Level(-1 - rand.IntN(100)) }},
}

func wellFormed() usher.Question {
	question := ben
	if rand.IntN(2) == 0 {
		question.Resource = usher.Resource{Type: "project", ID: "1042"}
	}
	question.Level = []usher.Level{usher.None, usher.View, usher.Edit}[rand.IntN(3)]
	return question
}

func named(t *testing.T, err error, field string) *usher.Error {
	t.Helper()
	var failure *usher.Error
	if !errors.Is(err, usher.ErrInvalidQuestion) || !errors.As(err, &failure) {
		t.Fatalf("%s: got %v", field, err)
	}
	if !slices.ContainsFunc(failure.Violations, func(one usher.Violation) bool { return strings.HasSuffix(one.Field, field) }) {
		t.Errorf("%s is not named by %v", field, failure.Violations)
	}
	return failure
}

func TestWrongQuestionsAreRefusedBeforeTheyAreSent(t *testing.T) {
	client := untouched(t)
	for range 200 {
		fault := faulty[rand.IntN(len(faulty))]
		question := wellFormed()
		fault.spoil(&question)
		_, err := client.Check(t.Context(), question)
		said := named(t, err, fault.field).Error()
		_, why := client.Explain(t.Context(), question)
		if named(t, why, fault.field).Error() != said {
			t.Errorf("got %v, not %s", why, said)
		}
		_, batch := client.BatchCheck(t.Context(), []usher.Question{ben, question})
		named(t, batch, "questions[1]."+fault.field)
		func() {
			defer func() {
				if thrown, _ := recover().(error); thrown == nil || thrown.Error() != said {
					t.Errorf("Allowed said %v, not %s", thrown, said)
				}
			}()
			client.Allowed(t.Context(), question)
		}()
		subject := usher.Subject{Email: question.Email, App: question.App, Resource: question.Resource}
		if fault.field != "permission" && fault.field != "level" {
			_, _, err := client.Effective(t.Context(), subject)
			named(t, err, fault.field)
		}
		_, err = client.BulkCheck(t.Context(), subject, []string{question.Permission}, question.Level)
		inBulk := fault.field
		if inBulk == "permission" {
			inBulk = "permissions[0]"
		}
		named(t, err, inBulk)
		if fault.field != "email" {
			everybody := question
			everybody.Email = ""
			named(t, last(client.Subjects(t.Context(), everybody)), fault.field)
		}
	}
}

func TestQuestionsRefuseWhatTheyDoNotAskAbout(t *testing.T) {
	client := untouched(t)
	named(t, last(client.Subjects(t.Context(), ben)), "email")
	record := ben
	record.Resource = usher.Resource{Type: "project", ID: "7"}
	_, err := client.Resources(t.Context(), record)
	named(t, err, "resource.id")
	_, err = client.Resources(t.Context(), ben)
	named(t, err, "resource.type")
	subject := usher.Subject{Email: ben.Email, App: ben.App}
	for _, permissions := range [][]string{nil, {}, make([]string, 1001)} {
		_, err = client.BulkCheck(t.Context(), subject, permissions, usher.None)
		named(t, err, "permissions")
	}
	_, err = client.BatchCheck(t.Context(), nil)
	named(t, err, "questions")
	for changes, err := range client.Watch(t.Context(), "", "") {
		named(t, err, "apps[0]")
		_ = changes
	}
}

func TestClientsAreNotMadeOfWhatTheyCannotUse(t *testing.T) {
	for _, address := range []string{"", "http://127.0.0.1:8080", "https://usher.example.com"} {
		_, err := usher.New(address)
		named(t, err, "address")
	}
	_, err := usher.New("127.0.0.1:1", usher.WithKey("from-a-file\n"))
	named(t, err, "WithKey")
	_, err = usher.New("127.0.0.1:1", usher.WithDeadline(0))
	named(t, err, "WithDeadline")
	_, err = usher.New("127.0.0.1:1", nil)
	named(t, err, "option")
}

func TestGuardsRefuseAMalformedQuestion(t *testing.T) {
	in := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	asked := usher.Guard[*http.Request]{
		App: "atelier", Permission: "project.access", Email: func(*http.Request) string { return ben.Email },
	}
	for name, change := range map[string]func(*usher.Guard[*http.Request]){
		"no record": func(g *usher.Guard[*http.Request]) {
			g.Resource = func(*http.Request) usher.Resource { return usher.Resource{} }
		},
		"half": func(g *usher.Guard[*http.Request]) {
			g.Resource = func(*http.Request) usher.Resource { return usher.Resource{Type: "project"} }
		},
		"level":         func(g *usher.Guard[*http.Request]) { g.Level = usher.Allowed },
		"no app":        func(g *usher.Guard[*http.Request]) { g.App = "" },
		"no e-mail":     func(g *usher.Guard[*http.Request]) { g.Email = nil },
		"not an e-mail": func(g *usher.Guard[*http.Request]) { g.Email = func(*http.Request) string { return "\xff" } },
	} {
		guard := asked
		change(&guard)
		recorder := httptest.NewRecorder()
		usher.Require(untouched(t), guard)(in).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
		if recorder.Code != http.StatusInternalServerError {
			t.Errorf("%s: got %d", name, recorder.Code)
		}
	}
	guards := map[string]usher.Guard[usher.Call]{"/p.S/Get": {
		App: "atelier", Permission: "project.access", Email: func(usher.Call) string { return ben.Email },
		Resource: func(usher.Call) usher.Resource { return usher.Resource{} },
	}}
	_, err := usher.UnaryInterceptor(untouched(t), guards)(
		t.Context(), "", &grpc.UnaryServerInfo{FullMethod: "/p.S/Get"},
		func(context.Context, any) (any, error) { return "in", nil })
	if status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}

func TestReady(t *testing.T) {
	client := must[*usher.Client](t)(usher.New(address, usher.WithKey(key)))
	defer client.Close()
	if err := client.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Check(t.Context(), ben); err != nil {
		t.Error(err)
	}
	if err := open(t, address, usher.WithKey("a-key-that-nobody-has")).Ready(t.Context()); !errors.Is(err, usher.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

// A server of something else: the error says where to look.
func TestAWrongPortIsSaid(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := open(t, strings.TrimPrefix(server.URL, "http://"), usher.WithDeadline(300*time.Millisecond))
	_, err := client.Check(t.Context(), ben)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, failure := range []error{err, client.Ready(ctx)} {
		if !errors.Is(failure, usher.ErrUnavailable) || !strings.Contains(fmt.Sprint(failure), "is it the port of gRPC") {
			t.Errorf("got %v", failure)
		}
	}
}

// A connection that is refused is trouble at once, and not a time to connect.
func TestTheDefaultDeadlineHoldsWhereNothingListens(t *testing.T) {
	client := must[*usher.Client](t)(usher.New("127.0.0.1:1", usher.WithLogger(quiet)))
	defer client.Close()
	since := time.Now()
	if _, err := client.Check(t.Context(), ben); !errors.Is(err, usher.ErrUnavailable) || time.Since(since) > 4*time.Second {
		t.Errorf("got %v after %s", err, time.Since(since))
	}
}

// The first call of a client has time to connect, where no deadline was given.
func TestTheFirstCallMayConnect(t *testing.T) {
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	slow := listener.Addr().String()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			time.Sleep(900 * time.Millisecond)
			go relay(connection, address)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	client := must[*usher.Client](t)(usher.New(slow, usher.WithKey(key)))
	defer client.Close()
	if decision, err := client.Check(t.Context(), ben); err != nil || !decision.Allowed {
		t.Errorf("got %v, %v", decision, err)
	}
}

func last[T any](items iter.Seq2[T, error]) (err error) {
	for _, one := range items {
		err = one
	}
	return err
}

func relay(from net.Conn, to string) {
	target, err := net.Dial("tcp", to)
	if err != nil {
		_ = from.Close()
		return
	}
	go func() { _, _ = io.Copy(target, from) }()
	_, _ = io.Copy(from, target)
}
