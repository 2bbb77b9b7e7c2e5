# shellcheck shell=bash
# Processes of Usher for the tests of the packages: sourced, with the root of the repository in $root and a folder for a while in $work.
processes=()
finish() {
  # An edge before the service that it asks.
  for ((i = ${#processes[@]} - 1; i >= 0; i--)); do
    kill "${processes[i]}" 2>/dev/null || true
    wait "${processes[i]}" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

# start NAME ARGUMENT…: `usher serve ARGUMENT…` on free ports, until it is ready.
start() {
  local name=$1
  shift
  HTTP_PORT=0 GRPC_PORT=0 DATA_DIR="$work/data" node "$root/src/main.ts" serve "$@" >"$work/$name.log" 2>&1 &
  processes+=($!)
  for _ in $(seq 300); do
    ! grep -q '"msg":"ready"' "$work/$name.log" || return 0
    kill -0 "${processes[-1]}" || break
    sleep 0.2
  done
  cat "$work/$name.log" >&2
  exit 1
}

# address NAME grpc|rest: where it listens.
address() { sed -n "s/.*\"$2\":\"\([^\"]*\)\".*\"msg\":\"ready\".*/\1/p" "$work/$1.log"; }
