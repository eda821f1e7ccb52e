#!/bin/bash
# Chromium in front of a live MemLens whose collector and web server are
# killed; see killed.mjs.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - killed: needs root"; exit 77; }
. tests/live/port.sh
free_port port
free_port KVPORT
free_port STATSPORT
# not below the build, which may lie where only root can go
RUN=$(mktemp -d /var/tmp/memlens-killed.XXXXXX)
export RUN KVPORT STATSPORT RESTART=1
setsid tests/live/run.sh "$BUILD" $port >"$BUILD/killed.out" 2>&1 &
run=$!
trap 'kill -CONT $run 2>/dev/null; kill -TERM $run 2>/dev/null; wait $run 2>/dev/null; rm -rf "$RUN"' EXIT
for _ in $(seq 1200); do
	grep -q "^http" "$BUILD/killed.out" && break
	kill -0 $run 2>/dev/null || { cat "$BUILD/killed.out"; exit 1; }
	sleep 0.1
done
node tests/browser/killed.mjs "http://localhost:$port/" "$RUN" $run
