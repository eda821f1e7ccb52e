#!/bin/bash
# What databases wait for: by our profile of waits, and by what they or strace
# say of the same seconds.
#
#   waits.sh BUILD [SECONDS [DATABASE...]]
#
#	redis      appendfsync always: time in fdatasync, and strace's of it
#	postgres   pgbench, all clients update one row: time in ProcSleep, and
#	           backends that wait for a lock, by pg_stat_activity; of that
#	           what a backend is named for that ended it as it committed
#	leveldb    writes without end: writers that wait for each other or for
#	           room, and the compaction
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${2:-10}
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

# measure OUT : our profile, until it is ended
measure() {
	begin nice -n -5 "$BUILD/system/cpu_driver" -s 1000 -n 1000 -w 100 \
		-l >"$1"
	driver=$last
	comes 120 eval "[ \$(grep -ac '^child' $1) -ge 3 ]"
}
# part OUT FROM TO PROCESS PATTERN [TYPE] : ns of the stacks of its slots' lines
part() {
	sed -n "$2,$3p" "$1" | P=$5 awk -v of="process=$4[,}]" \
		-v type="${6:-stack}" '
		$1 == type && $0 ~ of && $0 ~ ENVIRON["P"] { n += $NF }
		END { printf "%.0f\n", n }'
}
# slots OUT : as many lines as whole slots have
slots() { grep -an '^child' "$1" | tail -n 1 | cut -d: -f1; }
share() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.4f\n", a / b }'; }

# strace_of FIRST LAST : ns in calls that began in these slots of a second
strace_of() {
	awk -v first="$1" -v last="$2" '$2 >= first && $2 < last + 1 &&
		/<[0-9.]+>$/ { gsub(/[<>]/, "", $NF); n += $NF }
		END { printf "%.0f\n", n * 1e9 }' "$dir/strace"
}

redis() {
	local out=$dir/redis.out from to ns said pid
	start_redis "$dir/redis" || return
	redis-cli -p "$redis_port" config set appendonly yes >/dev/null
	redis-cli -p "$redis_port" config set appendfsync always >/dev/null
	pid=$last
	begin redis-benchmark -p "$redis_port" -q -t set -n 100000000 -r 100000 \
		-c 20 >/dev/null 2>&1
	measure "$out"
	# strace slows it down: both look at the same seconds.
	timeout -s INT "$((seconds + 4))" strace -f -ttt -T -e trace=fdatasync \
		-p "$pid" -o "$dir/strace" 2>/dev/null &
	sleep 2
	from=$(slots "$out")
	sleep "$seconds"
	to=$(slots "$out")
	wait $!
	kill "$driver" 2>/dev/null
	ns=$(part "$out" "$from" "$to" redis-server ';redis_fsync|;fdatasync')
	said=$(strace_of $(sed -n "$((from + 1)),${to}p" "$out" |
		awk '$1 == "block" { print $2 }' | sort -n | sed -n '1p;$p'))
	row waits_redis_fdatasync "$(share "$ns" "$(time_of "$out" "$from" \
		"$to")")" ratio strace "$(share "${said:-0}" "$(time_of "$out" \
		"$from" "$to")")"
}

postgres() {
	local out=$dir/postgres.out from to ns waiting held
	start_postgres "$dir/postgres" || return
	printf 'BEGIN;\nUPDATE pgbench_branches SET bbalance = bbalance + 1 %s\n' \
		'WHERE bid = 1;
SELECT pg_sleep(0.002);
END;' >"$dir/one.sql"
	chmod 644 "$dir/one.sql"
	begin "${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 -n \
		-p "$postgres_port" -c 8 -T 1000 -f "$dir/one.sql" postgres \
		>/dev/null 2>&1
	measure "$out"
	from=$(slots "$out")
	# Backends at a time, as a mean of readings.
	waiting=$("${as_postgres[@]}" psql -h 127.0.0.1 -p "$postgres_port" \
		-Atq postgres 2>&1 <<-END | grep -oE '[0-9.]+$'
	DO \$\$ DECLARE n int := 0; m int := 0; BEGIN
	FOR i IN 1..$((seconds * 10)) LOOP
	PERFORM pg_stat_clear_snapshot();
	n := n + (SELECT count(*) FROM pg_stat_activity
	    WHERE wait_event_type = 'Lock');
	m := m + 1;
	PERFORM pg_sleep(0.1);
	END LOOP;
	RAISE INFO '%', round(n::numeric / m, 4);
	END \$\$;
	END
	)
	sleep 1.2
	to=$(slots "$out")
	kill "$driver" 2>/dev/null
	ns=$(part "$out" "$from" "$to" postgres ';ProcSleep;')
	row waits_postgres_row_locks "$(share "$ns" "$(time_of "$out" "$from" \
		"$to")")" backends pg_stat_activity "${waiting:-0}"
	held=$(part "$out" "$from" "$to" postgres \
		'reason=database}.*;CommitTransaction.*;ProcLockWakeup;database' \
		lock_holder)
	row waits_postgres_holders "$(share "$held" "$(part "$out" "$from" \
		"$to" postgres 'reason=database}' lock)")" ratio
}

# time_of OUT FROM TO : ns of these slots
time_of() {
	echo $(($(sed -n "$(($2 + 1)),$3p" "$1" | grep -ac '^child') *
		1000000000))
}

leveldb() {
	local out=$dir/leveldb.out from to of n
	free_port kv
	free_port stats
	begin "$BUILD/kvservice" --port "$kv" --stats-port "$stats" \
		--db "$dir/db" >/dev/null 2>&1
	comes 120 curl -sf "http://127.0.0.1:$stats/get_status" || return
	begin "$BUILD/kvload" --port "$kv" --duration 0 --rate 20000 --mix set=100 \
		--value-size 4000 >/dev/null 2>&1
	measure "$out"
	from=$(slots "$out")
	sleep "$seconds"
	to=$(slots "$out")
	kill "$driver" 2>/dev/null
	for of in 'DBImpl::Write' 'DBImpl::MakeRoomForWrite' \
		'DBImpl::BackgroundCall'; do
		n=$(part "$out" "$from" "$to" kvservice ";[^;]*$of[^;]*;")
		row "waits_leveldb_${of##*:}" "$(share "$n" "$(time_of "$out" \
			"$from" "$to")")" threads
	done
	# Of what threads waited for conditions, what ended by the compaction.
	row waits_leveldb_compaction_signals "$(share "$(part "$out" "$from" \
		"$to" kvservice 'reason=condition}.*DBImpl::BackgroundCall' \
		lock_holder)" "$(part "$out" "$from" "$to" kvservice \
		'reason=condition}' lock_holder)")" ratio
}

for what in $what; do
	"$what"
done
