#!/bin/bash
# What databases pay for the profile of waits: operations a second of a program
# that is loaded as much as it bears, beside a daemon as it is configured by
# itself, with [offcpu] and without.
#
#   waits-cost.sh BUILD [PAIRS [DATABASE...]]
#
#	redis      set and get, 16 in flight on each of 20 connections
#	postgres   pgbench -N, 4 clients, no fsync
#	leveldb    the LevelDB service, 8 connections
#	idle       nobody: `rate` is what the whole host was busy, % of a CPU,
#	           with the daemon; not unless it is asked for
#
# Each pair is two daemons, one after the other, in an order drawn anew; both are
# left SETTLE seconds (35) to begin: what is over its budget is thinned after
# 30 s.  Server and clients have a CPU each.  Rows are medians of the
# pairs' ratios: of operations a second, and of the server's CPU time for one; and
# how often the host switched, and what the daemons took themselves.
set -u
cd "$(dirname "$0")/../.." || exit 1
pairs=${2:-5}
what=${*:3}
what=${what:-redis postgres leveldb}
. tests/bench/lib.sh
begin_as_root "$@"
begin() {
	"$@" &
	last=$!
	pids+=("$last")
}
. tests/system/lib/databases.sh

begin_redis() {
	start_redis "$dir/redis" || return
	server=$last
	begin taskset -c 1 "${as_nobody[@]}" redis-benchmark -p "$redis_port" -q -t set,get \
		-l -n 100000000 -r 100000 -c 20 -P 16 >/dev/null 2>&1
}
count_redis() {
	redis-cli -p "$redis_port" info stats | tr -d '\r' |
		sed -n 's/^total_commands_processed://p'
}
begin_postgres() {
	start_postgres "$dir/postgres" || return
	server=$postgres_pid
	begin taskset -c 1 "${as_postgres[@]}" "$postgres_bin/pgbench" -N \
		-h 127.0.0.1 -p "$postgres_port" -c 4 -T 100000 postgres >/dev/null 2>&1
}
# Each of its transactions has a number.
count_postgres() {
	"${as_postgres[@]}" psql -h 127.0.0.1 -p "$postgres_port" -Atq postgres \
		-c 'SELECT txid_snapshot_xmax(txid_current_snapshot())'
}
begin_leveldb() {
	free_port kv
	free_port stats
	begin "$BUILD/kvservice" --port "$kv" --stats-port "$stats" \
		--db "$dir/db" >/dev/null 2>&1
	server=$last
	comes 120 curl -sf "http://127.0.0.1:$stats/get_status" || return
	begin taskset -c 1 "$BUILD/kvload" --port "$kv" --duration 0 --rate 100000 \
		--timeout 3600 >/dev/null 2>&1
}
count_leveldb() {
	curl -s "http://127.0.0.1:$stats/metrics" |
		sed -n 's/^server{metrics="server_call"} //p'
}

begin_idle() { begin sleep 100000; server=$last; }
# Ticks of 10 ms: a hundredth of a CPU's second.
count_idle() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

# The server's processes, on the first CPU.
servers() { echo "$server" $(pgrep -P "$server"); }

switches() { awk '/^ctxt/ { print $2 }' /proc/stat; }

# beside WAITS DATABASE : operations a second, ns of the server's CPU time for
# each, switches a second, and the daemon's CPU time in % of one, beside it
beside() {
	local daemon from to began ended cpu ctxt own
	printf '[store]\ndirectory = %s\n[socket]\npath =\n[offcpu]\nenabled = %s\n' \
		"$dir/store" "$1" >"$dir/conf"
	rm -rf "$dir/store"
	"$BUILD/memlensd" -f "$dir/conf" >"$dir/log/daemon" 2>&1 &
	daemon=$!
	comes 60 grep -q 'ready: ' "$dir/log/daemon" || return
	sleep "${SETTLE:-35}"
	cpu=$(cpu_ns $(servers))
	own=$(cpu_ns "$daemon" $(pgrep -P "$daemon"))
	ctxt=$(switches)
	began=$(date +%s%N)
	from=$("count_$2")
	sleep "${SECONDS_OF_RUN:-4}"
	to=$("count_$2")
	ended=$(date +%s%N)
	cpu=$(($(cpu_ns $(servers)) - cpu))
	ctxt=$(($(switches) - ctxt))
	own=$(($(cpu_ns "$daemon" $(pgrep -P "$daemon")) - own))
	kill "$daemon"
	wait "$daemon"
	awk -v n=$((to - from)) -v t=$((ended - began)) -v c="$cpu" \
		-v s="$ctxt" -v o="$own" 'BEGIN { printf "%.1f %.2f %.0f %.3f\n",
		n * 1e9 / t, n ? c / n : 0, s * 1e9 / t, o * 100 / t }'
}

# pair DATABASE : both, what each said
pair() {
	local with without
	if ((RANDOM & 1)); then
		with=$(beside yes "$1") without=$(beside no "$1")
	else
		without=$(beside no "$1") with=$(beside yes "$1")
	fi
	echo "$with $without" | tee -a /dev/stderr
}
# middle COLUMN : the median of lines
middle() {
	awk -v c="$1" '{ print $c }' | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}
# rows NAME : of the lines of $dir/pairs
rows() {
	local names=(rate cpu switches daemon) of=(op/s ns /s '% of a CPU') i
	[ "$1" != idle ] || of[0]='% of a CPU'
	for i in 0 1 2 3; do
		awk -v i="$i" '{ print $(i + 1), $(i + 5), $(i + 1) / $(i + 5) }' \
			"$dir/pairs" >"$dir/ratios"
		SPREAD=$(awk '{ print $3 }' "$dir/ratios" | spread) \
			row "waits_cost_$1_${names[i]}" \
			"$(middle 1 <"$dir/ratios")" "${of[i]}" without \
			"$(middle 2 <"$dir/ratios")" \
			"$(middle 3 <"$dir/ratios")"
	done
}

for what in $what; do
	"begin_$what" || continue
	for pid in $(servers); do taskset -apc 0 "$pid"; done >/dev/null
	sleep 2
	for ((i = 0; i < pairs; i++)); do pair "$what"; done >"$dir/pairs"
	rows "$what"
	kill "${pids[@]}" 2>/dev/null
	sleep 1
	kill -KILL "${pids[@]}" 2>/dev/null # a load waits for its server
	wait
	pids=()
done
