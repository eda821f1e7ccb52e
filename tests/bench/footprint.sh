#!/bin/bash
# What all of MemLens takes on a host with 300 services while three pages are
# open and Prometheus scrapes: PSS of each part and CPU, idle and asked.
#
#	footprint.sh BUILD [SECONDS]
#
# SECONDS (180) of pages; 3600 is the hour of the goals.  SERVICES=300, PAGES=3,
# SLOTS=360 of them in the store before; REST=0 seconds without a page before
# memory is measured once more.  STORE=DIR keeps the filled store for the next
# run.  REFERENCE= leaves Debian's Prometheus, node_exporter and
# process-exporter out, which watch the same host each 10 s in the same run.
#
# The live host is profiled as it is; its further services are recorded slots
# (footprint_host.c) that come by the daemon's socket.  The pages' questions are
# footprint_ask.py's.  CPU is user + system time of /proc/PID/stat.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-180} rest=${REST:-0}
services=${SERVICES:-300} slots=${SLOTS:-360} pages=${PAGES:-3}
port=${PORT:-18995}
export RUN=$build/footprint KVPORT=$((port - 5)) RATE=${RATE:-200}
export OFFCPU=${OFFCPU:-no} # as by default
rm -rf "$RUN"
mkdir -p "$RUN/log"
dir=$RUN
. tests/bench/lib.sh
run=
finish() {
	[ -z "$run" ] || { kill -TERM "$run" && wait "$run"; } 2>/dev/null
	end_all
}
trap finish EXIT
trap 'exit 1' INT TERM

fill() {
	install -d -m 2750 -g nogroup "$1" &&
		"$build/bench/footprint_host" fill "$1" "$slots" "$services"
}
if [ -z "${STORE:-}" ]; then
	fill "$RUN/store" || exit 1
else
	[ -s "$STORE/manifest" ] || fill "$STORE" || exit 1
	install -d -m 2750 -g nogroup "$RUN/store"
	cp "$STORE"/* "$RUN/store/"
	chgrp -R nogroup "$RUN/store"
fi
setsid tests/live/run.sh "$build" "$port" >"$build/footprint.out" 2>&1 &
run=$!
for _ in $(seq 1200); do
	grep -q ^http "$build/footprint.out" && break
	kill -0 $run 2>/dev/null || break
	sleep 0.1
done
grep -q ^http "$build/footprint.out" || { cat "$build/footprint.out"; exit 1; }
begin "$build/bench/footprint_host" push "$RUN/memlensd.sock" "$services"

reference=()
begin_reference() {
	local p
	for p in prometheus prometheus-node-exporter \
		prometheus-process-exporter; do
		command -v $p >/dev/null || {
			echo "footprint: no $p beside us" >&2
			return
		}
	done
	cat >"$RUN/names.yml" <<-END
	process_names:
	  - name: "{{.Comm}}"
	    cmdline: ['.+']
	END
	cat >"$RUN/prometheus.yml" <<-END
	global: {scrape_interval: 10s}
	scrape_configs:
	  - job_name: host
	    static_configs:
	      - targets: ['127.0.0.1:$((port + 1))', '127.0.0.1:$((port + 2))']
	END
	begin prometheus-node-exporter \
		--web.listen-address="127.0.0.1:$((port + 1))"
	reference+=("${pids[-1]}")
	begin prometheus-process-exporter -config.path "$RUN/names.yml" \
		-web.listen-address="127.0.0.1:$((port + 2))"
	reference+=("${pids[-1]}")
	begin prometheus --config.file="$RUN/prometheus.yml" \
		--storage.tsdb.path="$RUN/tsdb" \
		--web.listen-address="127.0.0.1:$((port + 3))"
	reference+=("${pids[-1]}")
}
[ -z "${REFERENCE-yes}" ] || begin_reference

tree() { # a pid and all below it
	local c
	echo "$1"
	for c in $(pgrep -P "$1"); do tree "$c"; done
}
ticks() {
	local p sum=0 stat
	for p in "$@"; do
		stat=$(sed 's/.*) //' "/proc/$p/stat" 2>/dev/null) || continue
		sum=$((sum + $(awk '{ print $12 + $13 }' <<<"$stat")))
	done
	echo $sum
}
pss() {
	local p
	for p in "$@"; do cat "/proc/$p/smaps_rollup" 2>/dev/null; done |
		awk '/^Pss:/ { n += $2 } END { print n + 0 }'
}
started() { cat "$RUN/pid/$1"; }
parts="memlensd memlens-symbols memlens-scrape query health ingest playground nginx"
pids_of() {
	case $1 in
	memlensd) started memlensd ;;
	memlens-symbols) pgrep -P "$(started memlensd)" ;;
	memlens-scrape | nginx) tree "$(started "$1")" ;;
	reference) echo "${reference[*]}" ;;
	*) tree "$(started "memlens-fcgi-$1")" ;;
	esac
}
declare -A before
begin_cpu() {
	local p
	for p in $parts reference; do
		before[$p]=$(ticks $(pids_of "$p"))
	done
}
percent() { # of a CPU, of ticks in seconds
	awk -v c="$1" -v hz="$(getconf CLK_TCK)" -v s="$2" \
		'BEGIN { printf "%.3f", 100 * c / hz / s }'
}
# say_cpu WHEN SECONDS GOAL
say_cpu() {
	local p n all=0
	for p in $parts; do
		n=$(($(ticks $(pids_of "$p")) - before[$p]))
		all=$((all + n))
		row "CPU $1, $p" "$(percent $n "$2")" "% of a CPU"
	done
	row "CPU $1, all" "$(percent $all "$2")" "% of a CPU" goal "$3"
	[ ${#reference[@]} = 0 ] || row "CPU $1, Prometheus with exporters" \
		"$(percent $(($(ticks $(pids_of reference)) - \
		before[reference])) "$2")" "% of a CPU"
}
# say_pss WHEN [GOAL]
say_pss() {
	local p n all=0
	for p in $parts; do
		n=$(pss $(pids_of "$p"))
		all=$((all + n))
		row "PSS $1, $p" "$n" kB
	done
	row "PSS $1, all" $all kB ${2:+goal "$2"}
	[ ${#reference[@]} = 0 ] || row "PSS $1, Prometheus with exporters" \
		"$(pss $(pids_of reference))" kB
}

sleep 20 # start-up is over
begin_cpu
idle=$((seconds < 60 ? seconds : 60))
sleep $idle
say_cpu idle $idle 0.4
say_pss "before pages"
begin_cpu
said=$(python3 tests/bench/footprint_ask.py "$port" "$seconds" "$pages" \
	"$services")
echo "footprint: $said"
say_cpu "with $pages pages" "$seconds" 1
say_pss "with $pages pages" 65536
if [ "$rest" -gt 0 ]; then
	sleep "$rest"
	say_pss "$rest s after"
fi
row "answers that failed" "$(awk '{ print $(NF - 1) }' <<<"$said")" answers \
	of "$(awk '{ print $1 }' <<<"$said")"
