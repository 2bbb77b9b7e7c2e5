// The program asks what somebody may: usher-example EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	usher "github.com/usher-service/usher-go"
)

func main() {
	if err := ask(context.Background(), append(os.Args[1:], "", "", "", "", "")); err != nil {
		var failure *usher.Error
		if errors.As(err, &failure) {
			err = fmt.Errorf("denied: error=%s %s", failure.Reason, failure.Message)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, args []string) error {
	question := usher.Question{Email: args[0], App: args[1]}
	permissions := strings.Split(args[2], ",")
	question.Permission = permissions[0]
	question.Level = map[string]usher.Level{"view": usher.View, "edit": usher.Edit}[args[3]]
	question.Resource.Type, question.Resource.ID, _ = strings.Cut(args[4], ":")

	address := cmp.Or(os.Getenv("USHER_GRPC"), "localhost:50051")
	client, err := usher.New(address, usher.WithKey(os.Getenv("USHER_API_KEY")), usher.WithDeadline(5*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	decision, err := client.Check(ctx, question)
	if err != nil {
		return err
	}
	show("check", question.Permission, decision.Allowed, decision.Level, decision.Source)
	// Read your writes: the next answers are at least as fresh as this one.
	fresh := usher.AtLeast(decision.Revision)
	subject := usher.Subject{Email: question.Email, App: question.App, Resource: question.Resource}
	many, err := client.BulkCheck(ctx, subject, permissions, question.Level, fresh)
	if err != nil {
		return err
	}
	for _, code := range permissions {
		show("bulk", code, many[code].Allowed, many[code].Level, many[code].Source)
	}
	held, _, err := client.Effective(ctx, subject, fresh)
	for _, one := range held {
		show("effective", one.Permission, one.Allowed, one.Level, one.Source)
	}
	return err
}

func show(method, code string, allowed bool, level usher.Level, source usher.Source) {
	verdict := map[bool]string{true: "allowed", false: "denied "}[allowed]
	fmt.Printf("%-10s %-24s %s level=%s source=%s\n", method, code, verdict, level, source)
}
