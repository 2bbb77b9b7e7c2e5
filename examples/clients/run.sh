#!/usr/bin/env bash
# Builds the four examples, each with the client package of its language, and asks a running service the same questions through each.
#
#   run.sh                                   the questions below, about the application of examples/demo.yaml; answers as in expected.txt
#   run.sh EMAIL APP PERMISSION [any|view|edit [TYPE:ID]]         one question of yours; the answers need only agree
#
# USHER_GRPC and USHER_API_KEY say where the service is and who asks (README.md).
# Exits 0 when all four agree, 1 when they do not or a build fails, 2 when a tool is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
clients='typescript go python java'
questions=(
  'ben@example.com atelier project.archive any project:1042'
  'ben@example.com atelier project.access edit project:1042'
  'clara@example.com atelier project.access edit project:1042'
  'clara@example.com atelier invoice.access edit project:1042'
  'eva@client.example atelier document.access edit document:contract-77'
  'eva@client.example atelier project.access view document:contract-77'
  'nora@example.com atelier workspace.settings'
  'stranger@example.com atelier project.access any project:1042'
  'ben@example.com no-such-application project.access'
)

export USHER_GRPC=${USHER_GRPC:-localhost:50051}
export PATH="$root/node_modules/node/bin:$PATH"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
  printf 'examples/clients/run.sh: %s\n' "$*" >&2
}

# need COMMAND WHAT TEST…: notes a tool as missing unless the test succeeds.
missing=0
need() {
  local command=$1 what=$2
  shift 2
  if ! command -v "$command" >"$work/found" 2>&1; then
    complain "$command not found: needs $what"
    missing=1
  elif ! "$@" >"$work/found" 2>&1; then
    complain "$(command -v "$command") is too old: needs $what"
    missing=1
  fi
}

check_tools() {
  need node 'Node.js 24 (npm ci in the root of the project brings it)' node -e 'process.exit(Number(parseInt(process.versions.node) < 24))'
  need npm 'npm' npm --version
  need go 'Go 1.26, or any since 1.21 that may download it' go version
  need python3 'Python 3.10 with venv' python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
  need javac 'a JDK 17' javac --release 17 --version
  need mvn 'Maven 3.6.3' mvn --version
  [ "$missing" = 0 ] || exit 2
}

# Joined by &&: bash ignores `set -e` in whatever a condition runs. Each builds the package of this tree, and installs it.
build_typescript() {
  node "$root/clients/typescript/build.mjs" && npm run --silent typecheck
}

build_go() {
  go build -o usher-example .
}

build_python() {
  { .venv/bin/python --version || python3 -m venv --clear .venv; } &&
    .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
}

build_java() {
  "$root/.ci/tools/run" mvn --quiet --batch-mode -f "$root/clients/java/pom.xml" install -DskipTests -Dmaven.javadoc.skip &&
    mvn --quiet --batch-mode package
}

build() {
  local client=$1 began=$SECONDS
  if ! (cd "$here/$client" && "build_$client") >"$work/$client.build" 2>&1; then
    tail -n 40 "$work/$client.build" >&2
    complain "the $client example does not build"
    return 1
  fi
  printf 'built %s in %d s\n' "$client" $((SECONDS - began))
}

# They wait for the network more than for a processor, so they go side by side.
build_all() {
  local client build builds='' failed=0
  for client in $clients; do
    build "$client" &
    builds="$builds $!"
  done
  for build in $builds; do wait "$build" || failed=1; done
  [ "$failed" = 0 ] || exit 1
}

# ask CLIENT ARGUMENT…
ask() {
  local client=$1
  shift
  case $client in
    typescript) node "$here/typescript/main.ts" "$@" ;;
    go) "$here/go/usher-example" "$@" ;;
    python) "$here/python/.venv/bin/python" "$here/python/main.py" "$@" ;;
    # Flags for a process that lives a second; a service wants neither.
    java) java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar "$here/java/target/usher-example.jar" "$@" ;;
  esac
}

# The same question through all four: shown once, added to the answers.
compare() {
  local client
  for client in $clients; do
    if ! ask "$client" "$@" >"$work/$client" 2>"$work/$client.err"; then
      cat "$work/$client" "$work/$client.err" >&2
      complain "the $client client got no answer from $USHER_GRPC to: $*"
      exit 1
    fi
    if ! diff -u "$work/typescript" "$work/$client" >&2; then
      complain "the typescript and the $client client disagree about: $*"
      exit 1
    fi
  done
  { printf '? %s\n' "$*"; cat "$work/typescript"; echo; } | tee -a "$work/answers"
}

# refused WHAT ERROR [ARGUMENT…]: every client ends with an error, which its reason or the name of its class tells.
refused() {
  local what=$1 error=$2 client pids=''
  shift 2
  for client in $clients; do
    (if ask "$client" "$@" >"$work/$client" 2>"$work/$client.err"; then exit 1; fi) &
    pids="$pids $client:$!"
  done
  for client in $pids; do
    if ! wait "${client#*:}" || grep -q '^allowed' "$work/${client%:*}" || ! grep -Eq "$error" "$work/${client%:*}"{,.err}; then
      cat "$work/${client%:*}"{,.err} >&2
      complain "$what: the ${client%:*} client does not say $error, or takes it for an answer"
      exit 1
    fi
  done
  printf '%s: denied by all\n' "$what"
}

check_tools
build_all
echo
if [ $# -gt 0 ]; then
  compare "$@"
else
  for question in "${questions[@]}"; do
    # Words of a question hold no blanks.
    # shellcheck disable=SC2086
    compare $question
  done
  if ! diff -u "$here/expected.txt" "$work/answers" >&2; then
    complain 'the answers are not those of expected.txt: is the application of examples/demo.yaml there, unchanged?'
    exit 1
  fi
fi
refused 'half a resource' 'INCOMPLETE_RESOURCE|InvalidQuestion' ben@example.com atelier project.access any project
USHER_API_KEY=a-key-that-nobody-has refused 'a wrong key' 'UNAUTHENTICATED|Denied' ben@example.com atelier project.access
USHER_GRPC=127.0.0.1:1 refused 'a service that is away' 'DEADLINE_EXCEEDED|Unavailable' ben@example.com atelier project.access
echo '4 clients agree'
