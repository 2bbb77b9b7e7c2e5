#!/usr/bin/env bash
# Tests the module against a started service and an edge of it, and builds a program outside of the repository that uses it, as its users do.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$PATH"
work=$(mktemp -d)
source "$here/../processes.sh"

cd "$here"
"$root/.ci/tools/run" buf generate
git diff --exit-code -- internal
test -z "$(gofmt -l .)"
go vet ./...

mkdir "$work/data" "$work/app"
cat >"$work/app/main.go" <<'MAIN'
package main

import (
	"context"
	"fmt"
	"os"

	usher "github.com/usher-service/usher-go"
)

func main() {
	client, err := usher.New(os.Args[1], usher.WithKey(os.Args[2]))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	fmt.Println(client.Allowed(context.Background(), usher.Question{Email: "ben@example.com", App: "atelier", Permission: "project.access"}))
}
MAIN
# As the README says it, in an empty folder beside a clone.
ln -s "$root" "$work/app/usher"
(cd "$work/app" && go mod init app && go mod edit -replace github.com/usher-service/usher-go=./usher/clients/go && go get github.com/usher-service/usher-go@v0.1.0) >"$work/mod.log" 2>&1 || { cat "$work/mod.log"; exit 1; }
(cd "$work/app" && go build -o app .)

start service
grpc=$(address service grpc)
key=$(cat "$work/data/internal-api-key")
test "$("$work/app/app" "$grpc" "$key")" = true
USHER_GRPC=$grpc USHER_URL=$(address service rest) USHER_KEY=$key go test -race -count=1 ./...
start edge --upstream "$grpc"
USHER_GRPC=$(address edge grpc) USHER_KEY=$key go test -race -count=1 -skip TestANotificationIsStoredOnce ./...
