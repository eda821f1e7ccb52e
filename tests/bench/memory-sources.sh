#!/bin/bash
# What the sources of memory's profiles (page faults, the allocator's library)
# cost the profiler: three of it look at the same host and its loaded kvservice
# in the same seconds, with both, with the library alone and with neither.
#
#	memory-sources.sh BUILD [ROUNDS [SECONDS]]
#
# CPU is user and system time of the daemon and its child, and the BPF
# programs' own time; memory is PSS.  Medians of the differences.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
begin_as_root "$@"
rounds=${2:-5} seconds=${3:-10}
. tests/live/port.sh
free_port port
free_port stats
cp "$BUILD/libmemlens-alloc.so" "$BUILD/memlensd" "$BUILD/memlens" \
	"$BUILD/kvservice" "$dir/"
mkdir "$dir/kv"
begin "$dir/memlens" run -- "$dir/kvservice" --port "$port" \
	--stats-port "$stats" --db "$dir/kv"
service=${pids[-1]}
sleep 1
begin "$BUILD/kvload" --port "$port" --duration 0 --rate "${RATE:-2000}"

for with in both library neither; do
	faults=no allocs=yes
	[ $with != both ] || faults=yes
	[ $with != neither ] || allocs=no
	cat >"$dir/$with.conf" <<-END
	[store]
	reserve = 0
	[socket]
	path = $dir/$with.sock
	[faults]
	enabled = $faults
	[alloc_space]
	enabled = $allocs
	[service kvservice]
	command = \Q$dir/kvservice\E
	END
	begin "$dir/memlensd" -f "$dir/$with.conf" -s "$dir/store-$with"
	declare "daemon_$with=${pids[-1]}"
done
for _ in $(seq 300); do
	[ "$(grep -c 'ready: ' "$dir/log/out")" -ge 3 ] && break
	sleep 0.1
done
sleep 25 # what is met first is read

ticks() { # of a daemon and its children
	local p
	for p in "$1" $(children "$1"); do
		awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$p/stat"
	done | awk '{ n += $1 } END { print n * 10 }'
}
pss() {
	local p
	for p in "$1" $(children "$1"); do
		awk '/^Pss:/ { print $2 }' "/proc/$p/smaps_rollup"
	done | awk '{ n += $1 } END { print n / 1024 }'
}
bpf_ms() { # of the programs that a daemon has
	bpftool -j prog show | jq --argjson ids "[$(cat "/proc/$1/fdinfo"/* |
		awk '/^prog_id/ { print $2 }' | sort -u | paste -sd,)]" '[.[] |
		select(.id as $i | $ids | index($i)) | .run_time_ns // 0] |
		(add // 0) / 1e6'
}
cpu_ms() { echo "$(ticks "$1") $(bpf_ms "$1")" | awk '{ print $1 + $2 }'; }
middle() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
was=$(cat /proc/sys/kernel/bpf_stats_enabled)
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for ((i = 0; i < rounds; i++)); do
	a=$(cpu_ms "$daemon_both") b=$(cpu_ms "$daemon_library") c=$(cpu_ms "$daemon_neither")
	sleep "$seconds"
	echo "$(cpu_ms "$daemon_both") $a $(cpu_ms "$daemon_library") $b" \
		"$(cpu_ms "$daemon_neither") $c $(pss "$daemon_both")" \
		"$(pss "$daemon_library") $(pss "$daemon_neither")" >>"$dir/rounds"
done
echo "$was" >/proc/sys/kernel/bpf_stats_enabled
kill -0 "$service" || echo "kvservice has ended"
of() { awk -v s="$seconds" "{ print $1 }" "$dir/rounds"; }
line() { # NAME EXPRESSION UNIT GOAL WITHOUT
	SPREAD=$(of "$2" | spread) row "$1" "$(of "$2" | middle)" "$3" "$4" "$5"
}
line memory_sources_cpu '($1 - $2 - $5 + $6) / s / 10' "% of a CPU" goal 0.3
line memory_sources_library_cpu '($3 - $4 - $5 + $6) / s / 10' "% of a CPU" "" null
line memory_sources_daemon_cpu '($5 - $6) / s / 10' "% of a CPU" "" null
line memory_sources_pss '$7 - $9' MB goal 8
line memory_sources_library_pss '$8 - $9' MB "" null
