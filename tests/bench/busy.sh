#!/bin/bash
# The profiler on the busiest host: compilers, a browser, 100 forks a second
# and ten databases under load on all CPUs, for minutes.
#
#	busy.sh BUILD [SECONDS]     180, if nothing is said; 1800 is the goals'
#
# Of each database: stacks that are whole from three seconds after its load
# began (goal 99.9 %), and those that are not and bear no mark (goal none).  Of
# the run: samples whose process nobody knows, the rate as the daemon says it
# and as ticks came, the most memory of daemon and child and of BPF maps, and
# the CPU of everything of MemLens, beside `perf record -a -g` by frame
# pointers and by copies of stacks in the same minutes.  CPU is user + system
# time of /proc/PID/stat; what the kernel does for perf's and for our samples
# is in that of whom they interrupt: ours is busy_cpu_bpf (run time of BPF
# programs), perf's cannot be read.  perf writes only; to name its stacks perf
# script comes after it, which is counted by itself.
#
# What is not installed is left out, and said.  Databases have names of this
# run alone; the slots of the daemon are read from its recording (busy.py).
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-180}
port=${PORT:-17750}
export RUN=$build/busy KVPORT=$((port + 1)) RATE=200
rm -rf "$RUN"
mkdir -p "$RUN/log"
dir=$RUN
. tests/bench/lib.sh
. tests/live/port.sh
begin() { # each a group of processes, so that it ends with all below it
	setsid "$@" </dev/null &
	last=$!
	pids+=("$last")
}
. tests/system/lib/databases.sh
run=
finish() {
	local p
	trap - EXIT
	[ -z "$run" ] || { kill -TERM "$run" && wait "$run"; } 2>/dev/null
	[ -z "${postgres:-}" ] || kill -INT $postgres 2>/dev/null
	sleep 1
	for p in "${pids[@]}"; do kill -KILL -- "-$p"; done 2>/dev/null
	wait 2>/dev/null
	sleep 1
	for p in recording numbers; do
		[ ! -e "$RUN/$p" ] || mv "$RUN/$p" "$build/busy.$p"
	done
	rm -rf "$RUN"
}
trap finish EXIT
trap 'exit 1' INT TERM

# ---- databases: programs of names of this run alone ----
databases=()
chmod 755 "$RUN"
install -d -o nobody -m 755 "$RUN/as" "$RUN/data"
# named NAME PROGRAM : $program, by which NAME runs
named() {
	program=$RUN/as/$1
	command -v "$2" >/dev/null || {
		echo "busy: no $2, so no $1" >&2
		return 1
	}
	ln -s "$(readlink -f "$(command -v "$2")")" "$program"
	databases+=("$1")
}
nobody() { begin "${as_nobody[@]}" "$@" >>"$RUN/log/$name" 2>&1; }
answers() { # PORT
	comes 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1" ||
		{ echo "busy: $name does not start" >&2; return 1; }
}

begin_redis() { # NAME
	local name=$1 port
	named "$name" redis-server || return
	free_port port
	nobody "$program" --port "$port" --save '' --bind 127.0.0.1 \
		--appendonly no
	answers "$port"
	loads+=("redis-benchmark -p $port -q -t set,get,lpush,sadd,zadd
		-n 1000000000 -r 100000 -c 5")
}
begin_memcached() {
	local name=$1 port
	named "$name" memcached || return
	free_port port
	nobody "$program" -l 127.0.0.1 -p "$port" -U 0 -t 2
	answers "$port"
	loads+=("bash tests/bench/busy_load.sh memcached $port")
}
begin_leveldb() {
	local name=$1 port stats
	named "$name" "$build/kvservice" || return
	free_port port
	free_port stats
	nobody "$program" --port "$port" --stats-port "$stats" \
		--db "$RUN/data/$name"
	answers "$port"
	loads+=("$build/kvload --port $port --duration 0 --rate 500")
}
postgres=
begin_postgresql() {
	local name=$1 port data=$RUN/data/$1
	named "$name" "$postgres_bin/postgres" || return
	free_port port
	install -d -o postgres -m 700 "$data"
	(cd "$data" && "${as_postgres[@]}" "$postgres_bin/initdb" -D "$data/db" \
		-A trust -N --no-instructions) >>"$RUN/log/$name" 2>&1
	begin "${as_postgres[@]}" "$program" -D "$data/db" -F -p "$port" \
		-c listen_addresses=127.0.0.1 -c unix_socket_directories= \
		>>"$RUN/log/$name" 2>&1
	postgres="$postgres $last"
	answers "$port"
	"${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 -p "$port" \
		-i -s 2 -q postgres >>"$RUN/log/$name" 2>&1
	loads+=("$postgres_bin/pgbench -h 127.0.0.1 -p $port -U postgres -c 2
		-T 1000000 postgres")
}
begin_mariadb() {
	local name=$1 port data=$RUN/data/$1
	named "$name" mariadbd || return
	free_port port
	install -d -o nobody "$data"
	mariadb-install-db --no-defaults --user=nobody --datadir="$data" \
		--auth-root-authentication-method=normal --skip-test-db \
		>>"$RUN/log/$name" 2>&1
	nobody "$program" --no-defaults --datadir="$data" --port="$port" \
		--bind-address=127.0.0.1 --socket="$data/socket" \
		--innodb-flush-log-at-trx-commit=0
	answers "$port"
	loads+=("bash tests/bench/busy_load.sh mariadb $port")
}
# Those that are a program of their own: it is the load, too.
begin_rocksdb() {
	named "$1" db_bench || return
	loads+=("$program --db=$RUN/data/$1 --num=200000 --threads=2
		--benchmarks=fillrandom,readwhilewriting --duration=1000000")
}
begin_sqlite() {
	named "$1" sqlite3 || return
	loads+=("bash tests/bench/busy_load.sh sqlite $program $RUN/data/$1")
}

# ---- what is measured ----
tree() { # a pid and all below it
	local c
	echo "$1"
	for c in $(pgrep -P "$1"); do tree "$c"; done
}
started() { cat "$RUN/pid/$1"; }
ours() {
	local p
	for p in "$RUN"/pid/memlens* "$RUN/pid/nginx"; do
		tree "$(cat "$p")"
	done
}
cpu_ms() { # user + system time of processes
	local p
	for p in "$@"; do sed 's/.*) //' "/proc/$p/stat" 2>/dev/null; done |
		awk -v hz="$(getconf CLK_TCK)" '{ n += $12 + $13 }
			END { printf "%d", 1000 * n / hz }'
}
pss_kb() { # without BPF maps that they have mapped: busy_maps is of those
	local p
	for p in "$@"; do cat "/proc/$p/smaps" 2>/dev/null; done |
		awk '/^[0-9a-f]+-[0-9a-f]+ / { map = /anon_inode:bpf-map/ }
			/^Pss:/ && !map { n += $2 } END { print n + 0 }'
}
now_ms() { date +%s%3N; }
percent() { awk -v c="$1" -v ms="$2" 'BEGIN { printf "%.3f", 100 * c / ms }'; }
watch_memory() { # until it is killed
	while sleep 5; do
		pss_kb "$daemon" $(pgrep -P "$daemon") >>"$RUN/pss"
	done
}
# beside_perf WAY SECONDS : perf by a WAY to get callers, and ours meanwhile
beside_perf() {
	local began before perf us named bpf
	rm -f "$RUN/perf.data"
	perf record -q -e cpu-clock -F 99 -a --call-graph "$1" \
		-o "$RUN/perf.data" >"$RUN/log/perf" 2>&1 &
	perf=$!
	comes 30 test -s "$RUN/perf.data" || {
		echo "busy: no perf beside us: $(tail -n 1 "$RUN/log/perf")" >&2
		kill $perf
		return
	}
	began=$(now_ms) before=$(cpu_ms $perf) us=$(cpu_ms $(ours))
	"$build/bench/bpf_programs" -p "$daemon" -w "$2" >"$RUN/programs"
	began=$(($(now_ms) - began))
	before=$(($(cpu_ms $perf) - before)) us=$(($(cpu_ms $(ours)) - us))
	kill -INT $perf
	wait $perf
	named=$({ TIMEFORMAT='%U %S'; time timeout 300 \
		perf script --no-inline -i "$RUN/perf.data" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%d", 1000 * ($1 + $2) }')
	rm -f "$RUN/perf.data"
	us=$(percent $us $began)
	bpf=$(awk -v s="$2" '{ ns += $4 }
		END { printf "%.3f", ns / s / 10000000 }' "$RUN/programs")
	row "busy_cpu_perf_${1%,*}" "$(percent $before $began)" "% of a CPU" \
		"all of MemLens meanwhile" "$us"
	row "busy_cpu_perf_${1%,*}_script" "$(percent $named $began)" \
		"% of a CPU" "all of MemLens meanwhile" "$us"
	row busy_cpu_bpf "$bpf" "% of a CPU" "its processes meanwhile" "$us"
	row busy_bpf_sample "$(awk '$1 ~ /_sampl/ { r += $3; n += $4 }
		END { printf "%.2f", r ? n / r / 1000 : 0 }' "$RUN/programs")" \
		us/sample
}

# ---- all of it ----
loads=()
for i in 1 2; do
	begin_redis bz_redis$i
	begin_memcached bz_memc$i
	begin_postgresql bz_postgres$i
	begin_leveldb bz_leveldb$i
done
begin_mariadb bz_mariadb
begin_rocksdb bz_rocksdb
begin_sqlite bz_sqlite
echo "busy: ${#databases[@]} databases: ${databases[*]}"
for ((jobs = 1; jobs <= $(nproc); jobs++)); do
	begin bash tests/bench/busy_load.sh compile "$RUN/compile$jobs"
done
begin bash tests/bench/busy_load.sh browse "$RUN/browser"
begin "$build/system/storm" fork 100 $((seconds + 600))
sleep 10 # it is busy when the profiler starts
DAEMONFLAGS="-w $RUN/recording" setsid tests/live/run.sh "$build" "$port" \
	>"$build/busy.out" 2>&1 &
run=$!
comes 120 grep -q ^http "$build/busy.out" ||
	{ cat "$build/busy.out"; exit 1; }
daemon=$(started memlensd)
# What is of a whole slot is of three seconds and more after this.
sleep $(($(date +%s) % 10 <= 7 ? 7 - $(date +%s) % 10 : 17 - $(date +%s) % 10))
loaders=()
for load in "${loads[@]}"; do
	begin "${as_nobody[@]}" $load >/dev/null 2>>"$RUN/log/load"
	loaders+=("$last")
done
loaded=$(date +%s)
end=$((SECONDS + seconds))
watch_memory &
watcher=$!
began=$(now_ms) before=$(cpu_ms $(ours))
window=$((seconds / 6 < 60 ? seconds / 6 : 60))
sleep $((seconds / 3))
beside_perf fp $window
beside_perf dwarf,16384 $window
((SECONDS >= end)) || sleep $((end - SECONDS))
took=$(($(now_ms) - began))
row busy_cpu_all "$(percent $(($(cpu_ms $(ours)) - before)) $took)" \
	"% of a CPU"
kill $watcher
echo "busy: load $(cut -d ' ' -f 1-3 /proc/loadavg);" \
	"$(curl -s "http://127.0.0.1:$port/api/v1/health" | jq -c '{status,
	why: [.sources[]? | select(.state != "attached")]}')"
failed=0
for ((i = 0; i < ${#loads[@]}; i++)); do
	kill -0 "${loaders[i]}" 2>/dev/null || {
		echo "busy: a load has ended:" ${loads[i]} >&2
		tail -n 3 "$RUN/log/load" | cut -c 1-300 >&2
		failed=1
	}
done
kill -TERM $run
wait $run 2>/dev/null
run=
python3 tests/bench/busy.py "$RUN/recording" "$loaded" "${databases[@]}" \
	>"$RUN/numbers" || exit 1
grep '^#' "$RUN/numbers"
number() { awk -v n="$1" '$1 == n { print $2 }' "$RUN/numbers"; }
for name in "${databases[@]}"; do
	row "busy_whole_$name" "$(number "whole_$name")" "% of its stacks" \
		goal 99.9
	row "busy_unmarked_$name" "$(number "unmarked_$name")" stacks \
		"all of it" "$(number "samples_$name")"
	[ "$(number "samples_$name")" != 0 ] || failed=1
done
row busy_unmarked_databases "$(number unmarked)" stacks "of databases" \
	"$(number samples)"
row busy_unmarked_host "$(number unmarked_host)" samples "of the host" \
	"$(number all)"
row busy_exited "$(number exited)" samples "of the host" "$(number all)"
row busy_broken "$(number broken)" samples "of the host" "$(number all)"
row busy_ending "$(number ending)" "samples, whole" "of the host" \
	"$(number all)"
row busy_rate_least "$(number rate_least)" Hz goal 99
row busy_rate "$(number rate)" Hz goal 99
row busy_ticks "$(number ticks)" "a second and CPU" rate "$(number rate)"
row busy_lost "$(number lost)" samples "of the host" "$(number all)"
row busy_memory "$(sort -n "$RUN/pss" | tail -n 1)" "kB, at most" goal 49152
row busy_maps "$(number maps_kb)" "kB, at most" goal 16384
[ "$(number unmarked)" = 0 ] || failed=1
exit $failed
