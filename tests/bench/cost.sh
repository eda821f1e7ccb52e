#!/bin/bash
# What MemLens itself costs while it profiles the loaded LevelDB service:
# CPU and PSS of each of its processes over some seconds.
#
#   cost.sh BUILD [SECONDS]
#
# CPU is user + system time from /proc/PID/stat, PSS from smaps_rollup.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-60}
port=18975
export RUN=$build/cost KVPORT=18970 RATE=${RATE:-2000}
rm -rf "$RUN"
setsid tests/live/run.sh "$build" $port >"$build/cost.out" 2>&1 &
run=$!
trap 'kill -TERM $run 2>/dev/null; wait $run 2>/dev/null; rm -rf "$RUN"' EXIT
for _ in $(seq 300); do
	grep -q "^http" "$build/cost.out" && break
	sleep 0.1
done
sleep 15 # start-up is over

tree() { # a pid and all below it
	echo "$1"
	local c
	for c in $(pgrep -P "$1"); do tree "$c"; done
}
# ticks of pids, and of their ended children
ticks() {
	local sum=0 rest
	for p in "$@"; do
		rest=$(sed 's/.*) //' "/proc/$p/stat" 2>/dev/null) || continue
		set -- $rest
		sum=$((sum + ${12} + ${13}))
	done
	echo $sum
}
pss() {
	local sum=0 kb
	for p in "$@"; do
		kb=$(awk '/^Pss:/{print $2}' "/proc/$p/smaps_rollup" 2>/dev/null)
		sum=$((sum + ${kb:-0}))
	done
	echo $sum
}
daemon=$(cat "$RUN/pid/memlensd")
symbols=$(pgrep -P "$daemon" | head -n 1)
declare -A pids=(
	[memlensd]=$daemon
	[memlens-symbols]=$symbols
	[memlens-scrape]=$(cat "$RUN/pid/memlens-scrape")
	[memlens-fcgi]="$(tree "$(cat "$RUN/pid/memlens-fcgi-query")")
		$(tree "$(cat "$RUN/pid/memlens-fcgi-ingest")")
		$(tree "$(cat "$RUN/pid/memlens-fcgi-playground")")"
	[nginx]=$(tree "$(cat "$RUN/pid/nginx")")
)
names="memlensd memlens-symbols memlens-scrape memlens-fcgi nginx"
declare -A before
for n in $names; do before[$n]=$(ticks ${pids[$n]}); done
# One reader, as an open page is: health every 5 s, a line and a flame graph
# every 10 s.
api=http://127.0.0.1:$port/api/v1
for ((s = 0; s < seconds; s += 5)); do
	curl -s -o /dev/null "$api/health"
	((s % 10)) || curl -s -o /dev/null -G "$api/flamegraph.json" \
		--data-urlencode 'query=cpu{service="kvservice"}' -d from=now-5m
	((s % 10)) || curl -s -o /dev/null -G "$api/series" -d from=now-5m \
		--data-urlencode 'query=namedprocess_namegroup_cpu_seconds_total{groupname="kvservice"}'
	sleep 5
done
hz=$(getconf CLK_TCK) all_cpu=0 all_pss=0
printf '| process | CPU, %% of one | PSS, MB |\n|---|---:|---:|\n'
for n in $names; do
	cpu=$(($(ticks ${pids[$n]}) - before[$n]))
	kb=$(pss ${pids[$n]})
	all_cpu=$((all_cpu + cpu)) all_pss=$((all_pss + kb))
	awk -v n="$n" -v c=$cpu -v k="$kb" -v hz="$hz" -v s="$seconds" \
		'BEGIN{printf "| %s | %.2f | %.1f |\n", n, 100*c/hz/s, k/1024}'
done
awk -v c=$all_cpu -v k=$all_pss -v hz="$hz" -v s="$seconds" \
	'BEGIN{printf "| all | %.2f | %.1f |\n", 100*c/hz/s, k/1024}'
