#!/bin/bash
# What MemLens itself costs while it profiles the LevelDB service, redis and
# postgres, each loaded: CPU and PSS of each of its processes over some
# seconds.
#
#   cost.sh BUILD [SECONDS]
#
# CPU is user + system time from /proc/PID/stat, PSS from smaps_rollup.  That of
# all is the middle one of ten seconds each: a machine that stood still for
# some of them is in the spread.
# DATABASES= leaves redis and postgres out.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-60}
port=18975
export RUN=$build/cost KVPORT=18970 RATE=${RATE:-2000}
rm -rf "$RUN"
. tests/bench/lib.sh
setsid tests/live/run.sh "$build" $port >"$build/cost.out" 2>&1 &
run=$!
dir=$(mktemp -d)
begin() { "$@" & last=$!; pids+=("$last"); }
before_end() { :; }
. tests/system/lib/databases.sh
finish() {
	before_end
	kill -TERM $run 2>/dev/null
	wait $run 2>/dev/null
	kill -9 "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$RUN" "$dir"
}
trap finish EXIT
if [ -n "${DATABASES-yes}" ]; then
	chmod 755 "$dir"
	start_redis "$dir/redis" && load_redis
	start_postgres "$dir/postgres" && load_postgres
fi
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
symbols=$(pgrep -P "$daemon") # of names, and of unwind rows
declare -A pids_of=(
	[memlensd]=$daemon
	[memlens-symbols]=$symbols
	[memlens-scrape]=$(cat "$RUN/pid/memlens-scrape")
	[memlens-fcgi]=$(for p in $(cat "$RUN"/pid/memlens-fcgi-*); do
		tree "$p"
	done)
	[nginx]=$(tree "$(cat "$RUN/pid/nginx")")
)
names="memlensd memlens-symbols memlens-scrape memlens-fcgi nginx"
hz=$(getconf CLK_TCK)
percent() { # TICKS [SECONDS]
	awk -v c="$1" -v hz="$hz" -v s="${2:-$seconds}" \
		'BEGIN { printf "%.3f\n", 100 * c / hz / s }'
}
declare -A before
for n in $names; do before[$n]=$(ticks ${pids_of[$n]}); done
# One reader, as an open page is: health every 5 s, a line and a flame graph
# every 10 s.
api=http://127.0.0.1:$port/api/v1
: >"$dir/each"
last=
for ((s = 0; s < seconds; s += 5)); do
	if ((s % 10 == 0)); then
		now=$(for n in $names; do ticks ${pids_of[$n]}; done |
			awk '{ n += $1 } END { print n }')
		[ -z "$last" ] || percent $((now - last)) 10 >>"$dir/each"
		last=$now
	fi
	curl -s -o /dev/null "$api/health"
	((s % 10)) || curl -s -o /dev/null -G "$api/flamegraph.json" \
		--data-urlencode 'query=cpu{service="kvservice"}' -d from=now-5m
	((s % 10)) || curl -s -o /dev/null -G "$api/series" -d from=now-5m \
		--data-urlencode 'query=namedprocess_namegroup_cpu_seconds_total{groupname="kvservice"}'
	sleep 5
done
all_cpu=0 all_pss=0
printf '| process | CPU, %% of one | PSS, MB |\n|---|---:|---:|\n'
for n in $names all; do
	if [ "$n" = all ]; then
		cpu=$all_cpu kb=$all_pss
	else
		cpu=$(($(ticks ${pids_of[$n]}) - before[$n]))
		kb=$(pss ${pids_of[$n]})
		all_cpu=$((all_cpu + cpu)) all_pss=$((all_pss + kb))
	fi
	printf '| %s | %.2f | %.1f |\n' "$n" "$(percent $cpu)" \
		"$(awk -v k="$kb" 'BEGIN { print k / 1024 }')"
	if [ "$n" = all ]; then
		SPREAD=$(spread <"$dir/each") row cost_all_cpu \
			"$(middle_of <"$dir/each")" "% of a CPU"
	else
		row "cost_${n}_cpu" "$(percent $cpu)" "% of a CPU"
	fi
	row "cost_${n}_pss" "$kb" kB
	case $n in memlensd | memlens-symbols)
		daemon_cpu=$((${daemon_cpu:-0} + cpu))
		daemon_kb=$((${daemon_kb:-0} + kb)) ;;
	esac
done
"$build/bench/bpf_programs" -p "$daemon" -w 1 >"$dir/programs"
maps=$(awk '$7 > n { n = $7 } END { printf "%d", n / 1024 }' "$dir/programs")
row cost_daemon_cpu "$(percent "$daemon_cpu")" "% of a CPU" goal 1
row cost_daemon_memory $((daemon_kb + maps)) kB goal 65536
