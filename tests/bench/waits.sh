#!/bin/bash
# What databases wait for: by our profile of waits, and by what they say, or by
# what bpftrace sums at every switch, of the same seconds.
#
#	waits.sh BUILD [SECONDS [DATABASE...]]
#
#	redis      appendfsync always: time blocked in fdatasync, and the kernel's;
#	           then strace's time of the calls, and the kernel's beside it
#	postgres   pgbench, all clients update one row: time in ProcSleep, and
#	           backends that wait for a lock, by pg_stat_activity; of that
#	           what a backend is named for that ended it as it committed
#	leveldb    writes without end: writers that wait for each other or for
#	           room, and the compaction
set -u
# bpftrace wants tracefs, which need not be mounted: for us alone.
if [ ! -d /sys/kernel/tracing/events ] && [ -z "${WAITS_TRACEFS:-}" ]; then
	WAITS_TRACEFS=1 exec unshare --mount --propagation private sh -c '
		mount -t tracefs tracefs /sys/kernel/tracing
		exec "$0" "$@"' "$0" "$@"
fi
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

# measure OUT [THRESHOLD] : our profile, until it is ended
measure() {
	begin nice -n -5 "$BUILD/system/cpu_driver" -s 1000 -n 1000 \
		-w "${2:-100}" -l >"$1"
	driver=$last
	comes 120 eval "[ \$(grep -ac '^child' $1) -ge 3 ]"
}

# watch PID OUT NAME,ENTRY,RETURN... : what the process's threads spend between
# these probes, and of that off a CPU, until $watch is ended.  Waits of more
# than 10 ms are written down one by one, since slots end within them.
watch() {
	local pid=$1 out=$2 of name entry leave offset script=
	shift 2
	offset=$(python3 -c 'import time
print(time.time_ns() - time.monotonic_ns())')
	for of; do
		IFS=, read -r name entry leave <<<"$of"
		script+="
		$entry /pid == $pid/ { @in_$name[tid] = nsecs; }
		$leave /@in_$name[tid]/ {
			@all[\"$name\", (nsecs + $offset) / 1000000000] =
				sum(nsecs - @in_$name[tid]);
			delete(@in_$name[tid]); }
		tracepoint:sched:sched_switch {
			if (@in_$name[args->prev_pid]) {
				@left_$name[args->prev_pid] = nsecs; }
			if (@left_$name[args->next_pid]) {
				\$from = @left_$name[args->next_pid];
				delete(@left_$name[args->next_pid]);
				if (nsecs - \$from > 10000000) {
					printf(\"long $name %llu %llu\\n\",
						\$from + $offset, nsecs + $offset);
				} else {
					@off[\"$name\", (nsecs + $offset) /
						1000000000] = sum(nsecs - \$from); }
			} }"
	done
	script+="
		END { $(for of; do echo "clear(@in_${of%%,*});
		clear(@left_${of%%,*});"; done) }"
	stdbuf -oL bpftrace -e "$script" >"$out" 2>&1 &
	watch=$!
	pids+=("$watch")
	comes 20 grep -q Attaching "$out"
	sleep 2
}
# watched OUT MAP NAME FIRST LAST : ns in these slots of a second
watched() {
	awk -v map="@$2[$3," -v name="$3" -v all="$2" -v first="$4" -v last="$5" '
		index($0, map) == 1 {
			second = $2 + 0
			if (second >= first && second <= last) n += $3
		}
		all == "off" && $1 == "long" && $2 == name {
			from = $3 > first * 1e9 ? $3 : first * 1e9
			to = $4 < (last + 1) * 1e9 ? $4 : (last + 1) * 1e9
			if (to > from) n += to - from
		}
		END { printf "%.0f\n", n }' "$1"
}
# seconds_of OUT FROM TO : the first and the last slot of its lines
seconds_of() {
	sed -n "$(($2 + 1)),$3p" "$1" | awk '$1 == "block" { print $2 }' |
		sort -n | sed -n '1p;$p'
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
	local out=$dir/redis.out from to ns pid first last called of
	start_redis "$dir/redis" || return
	redis-cli -p "$redis_port" config set appendonly yes >/dev/null
	redis-cli -p "$redis_port" config set appendfsync always >/dev/null
	pid=$last
	begin redis-benchmark -p "$redis_port" -q -t set -n 100000000 -r 100000 \
		-c 20 >/dev/null 2>&1
	measure "$out" 10
	watch "$pid" "$dir/kernel" "fdatasync,$(printf \
		'tracepoint:syscalls:sys_%s_fdatasync,' enter exit)"
	from=$(slots "$out")
	sleep "$seconds"
	to=$(slots "$out")
	# strace slows it down, and stops it twice in each call: seconds of its own.
	timeout -s INT "$((seconds + 4))" strace -f -ttt -T -e trace=fdatasync \
		-p "$pid" -o "$dir/strace" 2>/dev/null &
	last=$!
	sleep 2
	first=$(($(date +%s) + 1))
	sleep "$((seconds + 1))"
	kill "$driver" 2>/dev/null
	wait "$last"
	kill -INT "$watch"
	wait "$watch"
	called=$(strace_of "$first" $((first + seconds - 1)))
	row waits_redis_strace "$(share "$called" "${seconds}e9")" ratio kernel \
		"$(share "$(watched "$dir/kernel" all fdatasync "$first" \
		$((first + seconds - 1)))" "${seconds}e9")"
	ns=$(part "$out" "$from" "$to" redis-server ';redis_fsync|;fdatasync')
	read -r first last < <(seconds_of "$out" "$from" "$to" | xargs)
	of=$(time_of "$out" "$from" "$to")
	row waits_redis_fdatasync "$(share "$ns" "$of")" ratio kernel \
		"$(share "$(watched "$dir/kernel" off fdatasync "$first" \
		"$last")" "$of")"
	row waits_redis_fdatasync_calls "$(share "$(watched "$dir/kernel" all \
		fdatasync "$first" "$last")" "$of")" ratio
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

# both NAME FUNCTION : its call and its return, for watch
both() { echo "$1,uprobe:$2,uretprobe:$2"; }

leveldb() {
	local out=$dir/leveldb.out from to of n pid first last
	free_port kv
	free_port stats
	begin "$BUILD/kvservice" --port "$kv" --stats-port "$stats" \
		--db "$dir/db" >/dev/null 2>&1
	comes 120 curl -sf "http://127.0.0.1:$stats/get_status" || return
	pid=$last
	begin "$BUILD/kvload" --port "$kv" --duration 0 --rate 20000 --mix set=100 \
		--value-size 4000 >/dev/null 2>&1
	measure "$out" 10
	of=$BUILD/kvservice:_ZN7leveldb6DBImpl
	watch "$pid" "$dir/kernel" \
		"$(both Write "${of}5WriteERKNS_12WriteOptionsEPNS_10WriteBatchE")" \
		"$(both MakeRoomForWrite "${of}16MakeRoomForWriteEb")" \
		"$(both BackgroundCall "${of}14BackgroundCallEv")"
	from=$(slots "$out")
	sleep "$seconds"
	to=$(slots "$out")
	sleep 2
	kill "$driver" 2>/dev/null
	kill -INT "$watch"
	wait "$watch"
	read -r first last < <(seconds_of "$out" "$from" "$to" | xargs)
	for of in Write MakeRoomForWrite BackgroundCall; do
		n=$(part "$out" "$from" "$to" kvservice ";[^;]*DBImpl::$of[^;]*;")
		row "waits_leveldb_$of" "$(share "$n" "$(time_of "$out" \
			"$from" "$to")")" threads kernel "$(share "$(watched \
			"$dir/kernel" off "$of" "$first" "$last")" \
			"$(time_of "$out" "$from" "$to")")"
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
