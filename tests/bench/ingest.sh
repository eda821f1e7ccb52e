#!/bin/bash
# The reference workload through /ingest: what a thousand profiles of 314 KB
# cost the worker, the collector and its store, sealing included, and whether
# every sample that was answered 200 is there.
#
#	ingest.sh BUILD [PROFILES]
#
# Slots are 20 ms, so that a thousand of them and all their sealing happen in
# 20 s: the work a slot is that of 10 s.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
export BUILD
profiles=${2:-${PROFILES:-1000}}
SLOT=20ms PORT=${PORT:-18890}
. tests/api/lib
. tests/api/stack
. tests/bench/lib.sh
python3 tests/bench/profiles.py --slots "$profiles" --out "$T/profiles" \
    >/dev/null || exit 1
start_stack -j 1
start_nginx

both() { cpu_ns "$1" $(children "$1"); } # a process and its children
w0=$(both $worker) d0=$(both $daemon) t0=$(date +%s%N)
node tests/bench/ingest_push.mjs "$base" "$T/profiles" 20 bench.cpu \
    >"$T/pushed" || exit 1
sleep 3 # the last span's sealing
w1=$(both $worker) d1=$(both $daemon) t1=$(date +%s%N)
# what the daemon costs without pushes, its own slots: no part of ours
sleep 20
i1=$(both $daemon) t2=$(date +%s%N)
idle=$(((i1 - d1) * ((t1 - t0) / 1000000) / ((t2 - t1) / 1000000)))
field() { node -p "JSON.parse(require('fs').readFileSync('$T/pushed')).$1"; }
got=$(counted 'cpu{service="bench"}' "$(field 'begin - 1')" \
    "$(field 'until + 1')")
echo "pushed: $(cat "$T/pushed")"
echo "accepted $(field accepted), in the store $got," \
    "refused with another status $(field refused)"
echo "worker $(((w1 - w0) / 1000000)) ms, memlensd $(((d1 - d0) / 1000000)) ms;" \
    "of that memlensd's own slots $((idle / 1000000)) ms"
[ "$got" = "$(field accepted)" ] || {
	echo "the sums differ: something was dropped with a 200"
	exit 1
}
per=$(awk -v ns=$((w1 - w0 + d1 - d0 - idle)) -v n="$profiles" \
    'BEGIN { printf "%.4f", ns / 1e9 / n * 1000 }')
row ingest_cpu_seconds_per_1000 "$per" s goal 0.8
row ingest_cpu_seconds_per_1000 "$per" s "Pyroscope 2.2.1, measured once" 8.2
"$B/bench/ingest_parts" "$T/profiles" | while read -r name value unit; do
	row "$name" "$value" "$unit"
done
row ingest_p99 "$(field 'p99.toFixed(3)')" ms \
    "Pyroscope 2.2.1, a write, measured once" 500
