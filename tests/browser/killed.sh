#!/bin/bash
# Chromium in front of a live MemLens whose collector and web server are
# killed; see killed.mjs.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - killed: needs root"; exit 77; }
port=18965
export RUN=$BUILD/killed KVPORT=18960 RESTART=15
rm -rf "$RUN"
setsid tests/live/run.sh "$BUILD" $port >"$BUILD/killed.out" 2>&1 &
run=$!
trap 'kill -TERM $run 2>/dev/null; wait $run 2>/dev/null; rm -rf "$RUN"' EXIT
for _ in $(seq 300); do
	grep -q "^http" "$BUILD/killed.out" && break
	sleep 0.1
done
node tests/browser/killed.mjs "http://localhost:$port/" "$RUN"
