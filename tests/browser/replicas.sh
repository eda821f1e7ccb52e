#!/bin/bash
# Chromium in front of a live MemLens that watches a double of ResilientDB: five
# processes, four of one executable; see replicas.mjs.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - replicas: needs root"; exit 77; }
. tests/live/port.sh
free_port port
free_port KVPORT
ports=
for i in 1 2 3 4; do free_port p; ports+=" $p"; done
# not below the build, which may lie where only root can go
RUN=$(mktemp -d /var/tmp/memlens-replicas.XXXXXX)
export RUN KVPORT DATABASE=resilientdb REPLICAPORTS=$ports SLOT=500ms \
	FAULTSPAN=5s DELAY=20 OFFCPU=no RESTART=20
setsid tests/live/run.sh "$BUILD" $port >"$BUILD/replicas.out" 2>&1 &
run=$!
trap 'kill -TERM $run 2>/dev/null; wait $run 2>/dev/null; rm -rf "$RUN"' EXIT
for _ in $(seq 1200); do
	grep -q "^http" "$BUILD/replicas.out" && break
	kill -0 $run 2>/dev/null || { cat "$BUILD/replicas.out"; exit 1; }
	sleep 0.1
done
node tests/browser/replicas.mjs "http://localhost:$port/" "$RUN" $ports
