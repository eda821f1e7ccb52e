#!/bin/bash
# Runs the programs of the table of kinds side by side under one daemon, and
# judges what it has seen of each.
#
#	run.sh BUILD SECONDS [KIND...]
#
# RATE=997 samples a second; PERF= leaves perf out.  Prints what judge.py says;
# FORM=tap, table or rows.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd) seconds=${2:?how long}
shift 2
rate=${RATE:-997}
. tests/system/lib/cpu.sh
. tests/system/lib/databases.sh
. tests/system/lib/storm.sh
. tests/kinds/programs.bash
chmod 755 "$dir"
mkdir "$dir/as" "$dir/missing" "$dir/log"
chmod 755 "$dir/as"
for port in memcached_port leveldb_port leveldb_stats; do free_port $port; done

mapfile -t kinds < <(awk -F '\t' '!/^#/ { print $1 }' tests/kinds/table.tsv)
[ $# = 0 ] || kinds=("$@")

declare -A pid_of=()
# started KIND : the last begun process is its
started() { pid_of[$1]=$last; }
# start KIND COMMAND...
start() {
	"${@:2}" >"$dir/log/$1" 2>&1 </dev/null &
	last=$!
	pids="$pids $last"
	started "$1"
}
processes() { # WHAT
	local k pairs=()
	for k in "${!pid_of[@]}"; do pairs+=("$k=${pid_of[$k]}"); done
	python3 tests/kinds/processes.py "$1" "${pairs[@]}"
}
before_end() {
	if [ -n "${postgres_pid:-}" ]; then # its shared memory is to go
		python3 tests/kinds/processes.py cont postgres="$postgres_pid"
		kill -INT "$postgres_pid" 2>/dev/null
		comes 20 eval "! kill -0 $postgres_pid"
	fi
	processes kill
	[ -z "${KEEP:-}" ] || cp -r "$dir" "$KEEP"
}

# each WHAT : what there is of it, of each kind that nothing is missing for
each() {
	local k
	for k in "${kinds[@]}"; do
		[ ! -e "$dir/missing/$k" ] || continue
		[ "$(type -t "$1_$k")" = function ] || continue
		if [ "$1" = make ]; then make_"$k" & else "$1_$k"; fi
	done
	[ "$1" != make ] || wait $(jobs -p)
}
said() { grep -q -e "$2" "$1"; }

each make
each ready
{
	cat <<-END
	[store]
	slot = 500ms
	reserve = 0
	[cpu]
	rate = ${rate}Hz
	budget = 0%
	unwind-memory = 64M
	[procfs]
	enabled = no
	[socket]
	path = $dir/sock
	[services]
	every-process = no
	short-lived = 0s
	END
	for k in "${kinds[@]}"; do
		printf '[service %s]\ncommand = %s_%s\n' "$k" "$k" "$tag"
	done
} >"$dir/conf"
begin nice -n -10 "$BUILD/memlensd" -f "$dir/conf" -s "$dir/store" -w "$dir/rec" \
	>"$dir/log/daemon" 2>&1
daemon=$last
await 60 said "$dir/log/daemon" "ready: "
said "$dir/log/daemon" "source cpu: attached" || {
	echo "skip - kinds: $(grep 'source cpu' "$dir/log/daemon")"
	exit 77
}
perf=
if [ -n "${PERF-yes}" ] && command -v perf >/dev/null; then
	begin perf record -q -e cpu-clock -F "$rate" -a -o "$dir/perf" \
		>"$dir/log/perf" 2>&1
	perf=$last
	await 30 test -s "$dir/perf"
fi
processes cpu >"$dir/before"
each run >"$dir/log/run" 2>&1
sleep "$seconds"
processes stop >"$dir/after"
sleep 1
kill -TERM "$daemon"
wait "$daemon" || echo "not ok - the daemon ends with status $?"
if [ -n "$perf" ]; then
	kill -INT "$perf"
	wait "$perf"
	perf script -i "$dir/perf" --show-task-events -F comm,pid,tid,ip,sym,symoff,dso \
		>"$dir/perf.txt" 2>>"$dir/log/perf"
fi
python3 tests/kinds/judge.py "${FORM:-table}" tests/kinds/table.tsv "$dir" "$rate" \
	"${kinds[@]}"
