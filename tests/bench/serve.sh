#!/bin/bash
# Flame graphs under load: SVGs of distinct hours with min-width 0.1 % from a
# store that is being written, through nginx, by two workers, no cache.
#
#	serve.sh BUILD
#
# RATE=200 SECONDS_=20 SLOTS=2880   requests a second, how long, the store
#
# wrk keeps no rate: the latency at a fixed rate is measured by serve_load,
# which counts from the time at which a request was due.  wrk, with two
# connections, says what two workers do at most.  Answers that the client has
# already (304) are a number of their own.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
rate=${RATE:-200} seconds=${SECONDS_:-20} slots=${SLOTS:-2880}
port=${PORT:-21790}
. tests/bench/lib.sh
dir=$(mktemp -d)
trap end_all EXIT
trap 'exit 1' INT TERM
mkdir -p "$dir"/{nginx,sockets,log,www}

python3 tests/bench/profiles.py --slots $((slots + 4000)) --dump \
	>"$dir/population" || exit 1
begin "$BUILD/bench/serve_store" "$dir/store" "$dir/population" "$slots"
for _ in $(seq 1200); do
	grep -q ^ready "$dir/log/out" && break
	sleep 0.1
done
read -r _ from until < <(grep ^ready "$dir/log/out") || exit 1

begin_worker -j 2 || exit 1
base=http://127.0.0.1:$port
uri='/api/v1/flamegraph.svg?query=cpu%7Bservice%3D%22kv%22%7D&min-width=0.1%25'

# fixed NAME EXTRA [HEADER]: rows of a run at the rate
fixed() {
	local before after line failed p50 p99 bytes
	before=$(cpu_ns $(children "$worker"))
	line=$("$BUILD/bench/serve_load" "$port" "$rate" "$seconds" 16 \
		"$from" "$until" "$uri$2" "${3:-}") || return 1
	after=$(cpu_ns $(children "$worker"))
	read -r _ n _ failed _ p50 _ p99 _ _ _ bytes <<<"$line"
	echo "serve: $1: $line"
	row "serve $1, failed of $n" "$failed" requests
	row "serve $1, p50 at $rate/s" "$p50" ms
	row "serve $1, p99 at $rate/s" "$p99" ms goal 20
	row "serve $1, CPU of the workers" \
		"$(awk "BEGIN { printf \"%.3f\", ($after - $before) / $n / 1e6 }")" \
		ms/request
	[ "$failed" = 0 ]
}
# both workers know the store before anything is measured
for i in $(seq 20); do
	curl -sf -o /dev/null "$base$uri&from=$from&until=$until" || exit 1
done
status=0
fixed "SVG of distinct hours" '&from=%FROM%&until=%UNTIL%' || status=1
row "serve SVG of an hour, bytes" "$(curl -sf \
	"$base$uri&from=$((until - 3600))&until=$until" | wc -c)" B

one="&from=$((until - 7200))&until=$((until - 3600))"
tag=$(curl -sf -o /dev/null -D - "$base$uri$one" | tr -d '\r' |
	sed -n 's/^ETag: //Ip')
fixed "SVG that the client has (304)" "$one" "If-None-Match: $tag" ||
	status=1

if command -v wrk >/dev/null; then
	read -r _ persecond p50 p99 errors < <(FROM=$from UNTIL=$until \
		URI="$uri&from=FROM&until=UNTIL" wrk -t1 -c2 -d"${seconds}s" \
		-s tests/bench/serve.lua "$base" | grep ^wrk)
	echo "serve: wrk, 2 connections: $persecond/s, p50 $p50 ms, p99 $p99 ms, $errors errors"
	row "serve SVG of distinct hours, wrk with 2 connections" \
		"$persecond" requests/s goal "$rate"
	row "serve SVG of distinct hours, wrk, p99" "$p99" ms
else
	echo "serve: no wrk here: the closed loop is left out"
fi
exit $status
