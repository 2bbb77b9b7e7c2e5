// The program asks what somebody may: usher-example EMAIL APP PERMISSION [any|view|edit [TYPE:ID]]
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	usher "github.com/usher-service/usher-go"
)

func main() {
	args := append(os.Args[1:], "", "", "", "", "")
	question := usher.Question{Email: args[0], App: args[1], Permission: args[2]}
	levels := map[string]usher.Level{"": usher.None, "any": usher.None, "view": usher.View, "edit": usher.Edit}
	level, ok := levels[args[3]]
	if !ok {
		log.Fatalf("no level is called %q", args[3])
	}
	question.Level = level
	question.Resource.Type, question.Resource.ID, _ = strings.Cut(args[4], ":")

	address := cmp.Or(os.Getenv("USHER_GRPC"), "localhost:50051")
	client, err := usher.New(address, usher.WithKey(os.Getenv("USHER_API_KEY")), usher.WithDeadline(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	decision, err := client.Check(context.Background(), question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(map[bool]string{true: "allowed", false: "denied"}[decision.Allowed], decision.Level, decision.Source)
}
