// The program asks Usher about one user in one application: Check, BulkCheck and Effective.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	pb "example.com/usher-client/gen/usher/permission/v1"
)

const usage = "usage: usher-client [EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]]"

var (
	demo   = []string{"ben@example.com", "atelier", "project.archive,project.access", "any", "project:1042"}
	levels = map[string]pb.AccessLevel{
		"any":  pb.AccessLevel_ACCESS_LEVEL_UNSPECIFIED,
		"view": pb.AccessLevel_ACCESS_LEVEL_VIEW,
		"edit": pb.AccessLevel_ACCESS_LEVEL_EDIT,
	}
)

type question struct {
	email, app, resourceType, resourceID string
	permissions                          []string
	level                                pb.AccessLevel
}

func main() {
	q, ok := readQuestion(os.Args[1:])
	if !ok {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(context.Background(), q); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, q question) error {
	deadline, err := time.ParseDuration(cmp.Or(os.Getenv("USHER_DEADLINE_MS"), "500") + "ms")
	if err != nil {
		return fmt.Errorf("USHER_DEADLINE_MS: %w", err)
	}
	address := cmp.Or(os.Getenv("USHER_GRPC"), "localhost:50051")
	conn, err := Dial(Options{
		Address:  address,
		Key:      os.Getenv("USHER_API_KEY"),
		CAFile:   os.Getenv("USHER_CA"),
		Deadline: deadline,
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	starting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if !Ready(starting, conn) {
		return fmt.Errorf("no Usher at %s: no connection within 5 s", address)
	}
	return ask(ctx, pb.NewPermissionServiceClient(conn), q)
}

// ask asks the three questions. It fails when one got no answer, or when two answers contradict each other.
//
// The getters of a nil answer return zeros, and zeros deny: the verdicts below are safe whatever went wrong before.
func ask(ctx context.Context, usher pb.PermissionServiceClient, q question) error {
	one, checkErr := usher.Check(ctx, &pb.CheckRequest{
		Email: q.email, App: q.app, Permission: q.permissions[0],
		ResourceType: q.resourceType, ResourceId: q.resourceID, AccessLevel: q.level,
	})
	show("check", q.permissions[0], one.GetAllowed(), one, checkErr)

	// Read your writes: an answer to a question with min_revision is at least that fresh, whichever instance gives it.
	// Take the revision from an earlier answer, or from the header `usher-revision` of a write.
	revision := one.GetRevision()
	many, bulkErr := usher.BulkCheck(ctx, &pb.BulkCheckRequest{
		Email: q.email, App: q.app, Permissions: q.permissions,
		ResourceType: q.resourceType, ResourceId: q.resourceID, AccessLevel: q.level, MinRevision: revision,
	})
	decisions := make(map[string]*pb.PermissionDecision)
	for _, decision := range many.GetResults() {
		decisions[decision.GetPermission()] = decision
	}
	for _, code := range q.permissions {
		show("bulk", code, decisions[code].GetAllowed(), decisions[code], bulkErr)
	}

	all, effectiveErr := usher.Effective(ctx, &pb.EffectiveRequest{
		Email: q.email, App: q.app, ResourceType: q.resourceType, ResourceId: q.resourceID, MinRevision: revision,
	})
	for _, held := range all.GetPermissions() {
		show("effective", held.GetCode(), held.GetGranted(), held, nil)
	}
	if effectiveErr != nil {
		show("effective", "*", false, nil, effectiveErr)
	}

	if err := cmp.Or(checkErr, bulkErr, effectiveErr); err != nil {
		return fmt.Errorf("denied for want of an answer: %s", status.Convert(err).Message())
	}
	fmt.Println("revision", all.GetRevision())
	if len(decisions) != len(q.permissions) {
		return fmt.Errorf("%d permissions asked, %d answered", len(q.permissions), len(decisions))
	}
	if many.GetRevision() == revision && decisions[q.permissions[0]].GetAllowed() != one.GetAllowed() {
		return fmt.Errorf("Check and BulkCheck disagree at revision %s", revision)
	}
	return nil
}

// held is what every kind of decision says beside its verdict.
type held interface {
	GetAccessLevel() pb.AccessLevel
	GetSource() pb.DecisionSource
}

func show(method, code string, granted bool, decision held, err error) {
	verdict := "denied "
	if granted {
		verdict = "allowed"
	}
	why := "error=" + Reason(err)
	if err == nil {
		level := name(decision.GetAccessLevel().String(), "ACCESS_LEVEL_")
		why = "level=" + level + " source=" + name(decision.GetSource().String(), "DECISION_SOURCE_")
	}
	fmt.Printf("%-10s %-24s %s %s\n", method, code, verdict, why)
}

// name makes `edit` of ACCESS_LEVEL_EDIT; nothing held and no rule that granted are `none`.
func name(word, prefix string) string {
	if word = strings.ToLower(strings.TrimPrefix(word, prefix)); word == "unspecified" {
		return "none"
	}
	return word
}

func readQuestion(args []string) (question, bool) {
	if len(args) == 0 {
		args = demo
	}
	args = append(args, make([]string, max(0, 5-len(args)))...)
	level, known := levels[cmp.Or(args[3], "any")]
	var permissions []string
	for _, code := range strings.Split(args[2], ",") {
		if !slices.Contains(permissions, code) {
			permissions = append(permissions, code)
		}
	}
	// Only the first colon divides: identifiers may hold more of them.
	resourceType, resourceID, _ := strings.Cut(args[4], ":")
	return question{
		email: args[0], app: args[1], resourceType: resourceType, resourceID: resourceID,
		permissions: permissions, level: level,
	}, known && args[0] != "" && args[1] != "" && args[2] != ""
}
