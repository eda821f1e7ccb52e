#!/bin/bash
# What the allocator's library costs programs, in CPU time: without the daemon,
# and sampled by it; beside a library that hands on every call, and jemalloc's
# and tcmalloc's own sampling of as many bytes. Both of a pair run one right after the other, in an order drawn anew; or
# as one process that changes between the library and the C library's own each
# millisecond, where alloc_work knows how.
#
#	alloc.sh BUILD [ROUNDS]
#
# A row: the median with it, the median without it; its ratio is the median of
# the pairs', and the spread is what holds that median in 19 of 20 such runs (of
# fewer than six pairs: theirs). WORKS="pair mixed" does some of them alone, of
# VARIANTS="library" some; the pairs stay in the folder KEEP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
begin_as_root "$@"
rounds=${2:-9}
library=$dir/libmemlens-alloc.so
cp "$BUILD/libmemlens-alloc.so" "$library"
chmod 755 "$library"
empty=$dir/empty.so
gcc -O2 -fno-builtin -fPIC -shared -o "$empty" -x c - <<'END' || exit 1
#include <stddef.h>
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t n) { return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
void free(void *p) { __libc_free(p); }
END
chmod 755 "$empty"
begin() { # as databases.sh would have it
	"$@" >>"$dir/log/out" 2>&1 &
	last=$!
	pids+=("$last")
}
. tests/system/lib/databases.sh
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null)
tcmalloc=$(ls /usr/lib/*/libtcmalloc.so.4 2>/dev/null)
nobody() { "${as_nobody[@]}" "$@"; }

# ---- works, before all else that wants the CPU: each prints its CPU time; "$@" is what sets the environment ----

cpu_of() { # COMMAND... : s of it and of all that it has waited for
	chrt -f 1 python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,
	stderr=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(r.ru_utime + r.ru_stime)' "$@"
}
operations() {
	case $1 in pair) echo 16000000 ;; tree) echo 2000000 ;; *) echo 8000000 ;; esac
}
work() { chrt -f 1 "${@:2}" "$BUILD/bench/alloc_work" "$1" "$(operations "$1")"; }
work_pair() { work pair "$@"; }
work_new() { work new "$@"; }
work_mixed() { work mixed "$@"; }
work_tree() { work tree "$@"; }
# in_turn WORK VARIANT : "WITH WITHOUT" of one process, or nothing where it has
# no turns
in_turn() {
	case $1.$2 in *.tcmalloc) return ;; pair.* | mixed.* | tree.*) ;; *) return ;; esac
	# shellcheck disable=SC2086
	chrt -f 1 env ${set_with[$2]} "$BUILD/bench/alloc_work" "$1" \
		"$(operations "$1")" turns
}
cat >"$dir/work.py" <<'END'
import json
text = json.dumps([{"id": i, "tags": ["t%d" % (i % 97)] * 5, "x": i / 7}
                   for i in range(10000)])
for _ in range(15):
    json.loads(text)
END
work_python() {
	cpu_of "$@" env PYTHONMALLOC=malloc /usr/bin/python3 "$dir/work.py"
}
work_sqlite() {
	cpu_of "$@" sqlite3 :memory: "create table t (a integer primary key, b);
		create index i on t (b);
		with recursive n(x) as (select 1 union all select x + 1 from n
			limit 150000) insert into t select x, hex(x * 7919) from n;
		select count(distinct substr(b, 1, 5)) from t;"
}
python3 -c 'import json
print(json.dumps([{"id": i, "tags": ["t%d" % (i % 97)] * 5, "x": i / 7}
                  for i in range(60000)]))' >"$dir/work.json"
work_jq() { cpu_of "$@" jq -c '[.[] | .tags | length] | add' "$dir/work.json"; }
work_rocksdb() {
	rm -rf "$dir/rocks"
	cpu_of "$@" db_bench --db="$dir/rocks" --threads=1 --num=60000 \
		--benchmarks=fillrandom,readrandom --value_size=200
}
# A server that is there already: what it took for so many requests.
ticks_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"; }
work_redis() {
	local before server=$plain_redis port=$plain_redis_port
	[ "$#" -le 1 ] || { server=$with_redis port=$with_redis_port; }
	before=$(ticks_ms "$server")
	redis-benchmark -p "$port" -q -t set,lpush,sadd,lpop -n 100000 \
		-r 50000 -d 100 -c 20 -P 8 >/dev/null 2>&1
	echo $(($(ticks_ms "$server") - before))
}

# The same of postgres and its ended children, of which each client has one.
tree_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13 + $14 + $15) * 10 }' "/proc/$1/stat"; }
work_postgres() {
	local before server=$plain_postgres port=$plain_postgres_port
	[ "$#" -le 1 ] || { server=$with_postgres port=$with_postgres_port; }
	before=$(tree_ms "$server")
	"${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 -p "$port" \
		-n -S -c 2 -t 4000 postgres >/dev/null 2>&1
	sleep 0.2 # its children have ended
	echo $(($(tree_ms "$server") - before))
}

# ---- pairs ----

declare -A set_with=(
	[library]="LD_PRELOAD=$library" [sampled]="LD_PRELOAD=$library"
	[empty]="LD_PRELOAD=$empty"
	[jemalloc]="LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:19"
	[tcmalloc]="LD_PRELOAD=$tcmalloc TCMALLOC_SAMPLE_PARAMETER=524288"
)
declare -A set_without=([library]= [sampled]= [empty]=
	[jemalloc]="LD_PRELOAD=$jemalloc"
	[tcmalloc]="LD_PRELOAD=$tcmalloc TCMALLOC_SAMPLE_PARAMETER=0")

# pair WORK VARIANT : one more line "WITH WITHOUT" in its file
pair() {
	local with without both
	both=$(in_turn "$1" "$2")
	[ -z "$both" ] || { echo "$both" >>"$dir/$1.$2"; return; }
	# shellcheck disable=SC2086
	if ((RANDOM % 2)); then
		with=$("work_$1" env ${set_with[$2]})
		without=$("work_$1" env ${set_without[$2]})
	else
		without=$("work_$1" env ${set_without[$2]})
		with=$("work_$1" env ${set_with[$2]})
	fi
	echo "$with $without" >>"$dir/$1.$2"
}
middle() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
# "LEAST MOST N" of the median: by the signs, which are a coin's
sure() {
	sort -g | awk '{ v[NR] = $1 } END {
		k = int((NR - 1.96 * sqrt(NR)) / 2)
		if (NR) print v[k < 1 ? 1 : k], v[k < 1 ? NR : NR + 1 - k], NR
	}'
}
say() { # WORK VARIANT UNIT
	local f=$dir/$1.$2
	[ -s "$f" ] || return
	[ -z "${KEEP:-}" ] || cp "$f" "$KEEP"
	SPREAD=$(awk '$2 > 0 { print $1 / $2 }' "$f" | sure) row \
		"alloc_$1_$2" "$(awk '{ print $1 }' "$f" | middle)" "$3" \
		without "$(awk '{ print $2 }' "$f" | middle)" \
		"$(awk '$2 > 0 { print $1 / $2 }' "$f" | middle)"
}
begin_sampler() {
	stdbuf -oL "$BUILD/system/cpu_driver" -k -h 1 -s 1000 -n 100000 \
		-a "$library" >"$dir/said" 2>&1 &
	sampler=$!
	pids+=("$sampler")
	for _ in $(seq 300); do
		[ "$(grep -c '^child' "$dir/said")" -gt 1 ] && return
		sleep 0.1
	done
}
works=${WORKS:-pair new mixed tree python jq sqlite rocksdb}
works=${works/redis/}
variants=" ${VARIANTS:-library sampled empty jemalloc tcmalloc} "
[ -n "$jemalloc" ] || variants=${variants/ jemalloc / }
[ -n "$tcmalloc" ] || variants=${variants/ tcmalloc / }
for ((i = 0; i < rounds; i++)); do
	for v in ${variants/ sampled / }; do
		for w in $works; do pair "$w" "$v"; done
	done
	[[ $variants = *" sampled "* ]] || continue
	begin_sampler
	for w in $works; do pair "$w" sampled; done
	kill "$sampler"
	wait "$sampler" 2>/dev/null
done

# ---- servers, sampled: one with the library, one without ----

# servers NAME : both of them
servers() {
	local n=$1 port=$1_port
	"start_$n" "$dir/$n-1" || return
	declare -g "plain_$n=${pids[-1]}" "plain_$port=${!port}"
	free_port "$port"
	export LD_PRELOAD=$library
	"start_$n" "$dir/$n-2" || return
	unset LD_PRELOAD
	declare -g "with_$n=${pids[-1]}" "with_$port=${!port}"
}
pair_of_servers() {
	local w o
	if ((RANDOM % 2)); then
		w=$("work_$1" env with) o=$("work_$1" env)
	else
		o=$("work_$1" env) w=$("work_$1" env with)
	fi
	echo "$w $o" >>"$dir/$1.sampled"
}
if [[ " ${WORKS:-redis} " = *" redis "* ]] && command -v redis-server >/dev/null; then
	begin_sampler
	for n in redis postgres; do
		servers $n || continue
		for ((i = 0; i < rounds * 2; i++)); do pair_of_servers $n; done
	done
	kill "$sampler" # no probes are in the way of valgrind below
	wait "$sampler" 2>/dev/null
fi

# ---- instructions, which are the same in each run ----

instructions() { # WORK [LIBRARY] : of one operation
	local n
	for n in 100000 300000; do
		LD_PRELOAD=${2:-} valgrind --tool=callgrind \
			--callgrind-out-file=/dev/null \
			"$BUILD/bench/alloc_work" "$1" $n 2>&1 |
			awk '/refs:/ { gsub(",", ""); print $NF }'
	done | awk '{ v[NR] = $1 } END { printf "%.1f", (v[2] - v[1]) / 200000 }'
}

for w in $works; do
	case $w in python | jq | sqlite | rocksdb) unit=s ;; *) unit=ns ;; esac
	for v in $variants; do say "$w" $v $unit; done
done
say redis sampled "ms of the server"
say postgres sampled "ms of the server"
if [ -z "${WORKS:-}" ] && command -v valgrind >/dev/null; then
	for w in pair new; do
		row "alloc_${w}_instructions" "$(instructions $w "$library")" \
			instructions without "$(instructions $w)"
	done
fi
