#!/bin/bash
# What the CPU profiler costs at 99 Hz while a thread on each CPU runs 30
# calls deep: ours, the plain walker (reference.bpf.c), perf record by frame
# pointers and by copies of stacks, and twice nothing, which shows the noise.
# Each round measures all of them in an order drawn anew.
#
#   profiler.sh BUILD [ROUNDS [SECONDS]]
#
# THREADS=16 a CPU help against the noise of a machine that others use too.
# PHASES= leaves all but the comparison of the two walkers out; with WALKERS=
# that is left out, and PHASES="none again ours" are many pairs in short time.
#
# Rows are medians over the rounds; slow-down is of the program's work against
# the mean of the two times without a profiler in the same round.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
rounds=${2:-7} seconds=${3:-4}
. tests/bench/lib.sh
. tests/system/daemon-lib.bash
. tests/system/lib/chain.sh
[ "$(id -u)" = 0 ] || { echo "skip - profiler: needs root"; exit 0; }

# ---- the program ----
{
	chain_functions 3000
	cat <<-'END'
	#include <fcntl.h>
	#include <pthread.h>
	#include <sched.h>
	#include <stdlib.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static volatile uint64_t *counts; /* a line of the cache each */
	static void *run(void *arg)
	{
		long i = (long)arg;
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(i % sysconf(_SC_NPROCESSORS_ONLN), &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (uint64_t n = 0;;)
			c00(n++), counts[8 * i]++;
		return 0;
	}
	int main(int argc, char **argv)
	{
		long i, n = sysconf(_SC_NPROCESSORS_ONLN) * atol(argv[1]);
		int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
		pthread_t t;
		if (ftruncate(fd, 64 * n) != 0)
			return 1;
		counts = mmap(0, 64 * n, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
		for (i = 1; i < n; i++)
			pthread_create(&t, 0, run, (void *)i);
		run(0);
	}
	END
} >"$dir/deep.c"
gcc -O2 -fomit-frame-pointer -D_GNU_SOURCE -o "$dir/deep" "$dir/deep.c" \
	-lpthread || exit 1
begin /dev/null "$dir/deep" "${THREADS:-1}" "$dir/counts"
sleep 1
work() { od -An -v -t u8 "$dir/counts" | awk '{ n += $1 + $2 } END { printf "%.0f\n", n }'; }

rss_kb() {
	local p
	for p in "$@"; do cat "/proc/$p/status" 2>/dev/null; done |
		awk '/^VmRSS:/ { n += $2 } END { print n + 0 }'
}
said_number() { # NAME VALUE : kept with the others of that name
	echo "$1 $2" >>"$dir/numbers"
}

# ---- what is measured ----
cat >"$dir/conf" <<END
[store]
reserve = 0
[socket]
path = $dir/sock
END
start_none() { who=(); }
start_again() { who=(); }
start_ours() {
	rm -rf "$dir/store"
	start_daemon ours -s "$dir/store"
	who=("$last" $(cat "/proc/$last/task/$last/children"))
	said "$dir/ours.log" "source cpu: attached" || cat "$dir/ours.log"
	sleep 6 # tables and names
	said_number startup_cpu_ms $(($(cpu_ns "${who[@]}") / 1000000))
}
start_reference() {
	begin "$dir/reference.log" "$BUILD/bench/reference" 99 1000
	who=("$last")
	await 60 said "$dir/reference.log" ready
}
start_perf() { # MODE
	rm -f "$dir/perf.data"
	begin "$dir/perf.log" perf record -e cpu-clock -F 99 -a \
		--call-graph "$1" -o "$dir/perf.data"
	who=("$last")
	await 30 test -s "$dir/perf.data"
}
start_fp() { start_perf fp; }
start_dwarf() { start_perf dwarf,16384; }

# us_per_sample PID
us_per_sample() {
	"$BUILD/bench/bpf_programs" -p "$1" -w "$seconds" |
		awk '$1 ~ /_sampl/ { r += $3; n += $4 }
			END { if (r) printf "%.3f", n / r / 1000 }'
}

# Both walkers side by side, so that they see the same processes: their clocks
# tick apart from each other.
compare_walkers() {
	local reference ours
	start_ours
	ours=$last
	start_reference
	reference=$last
	sleep 1
	us_per_sample "$ours" >"$dir/us_ours" &
	us_per_sample "$reference" >"$dir/us_reference"
	wait $!
	said_number both_ours_us "$(cat "$dir/us_ours")"
	said_number both_reference_us "$(cat "$dir/us_reference")"
	said_number bpf_ratio "$(paste "$dir/us_ours" "$dir/us_reference" |
		awk '{ printf "%.3f", $1 / $2 }')"
	kill -TERM "$ours" "$reference"
	wait "$ours" "$reference" 2>/dev/null
	cp "$dir/numbers" "$BUILD/profiler.numbers"
}

# measure NAME : one phase of a round
measure() {
	local before after cpu=0 size began ns
	who=()
	start_"$1"
	sleep 1
	size=$(stat -c %s "$dir/perf.data" 2>/dev/null || echo 0)
	[ ${#who[@]} = 0 ] || cpu=$(cpu_ns "${who[@]}")
	before=$(work) began=$(date +%s%N)
	if [ ${#who[@]} = 0 ]; then sleep "$seconds"; else
		"$BUILD/bench/bpf_programs" -p "${who[0]}" -w "$seconds" \
			>"$dir/programs"
	fi
	after=$(work) ns=$(($(date +%s%N) - began))
	rate=$(((after - before) * 1000000 / (ns / 1000)))
	echo "$1 $rate" >>"$dir/round"
	[ ${#who[@]} != 0 ] || return
	said_number "${1}_cpu" "$(awk -v c=$(($(cpu_ns "${who[@]}") - cpu)) \
		-v t=$ns 'BEGIN { printf "%.3f", 100 * c / t }')"
	said_number "${1}_rss" "$(rss_kb "${who[@]}")"
	case $1 in
	ours | reference)
		awk -v t=$ns '{ runs += $3; ns += $4; if ($7 > maps) maps = $7 }
			$1 ~ /_sampl/ { r += $3; n += $4 }
			END { printf "%.3f %.4f %d\n", n / r / 1000,
			    100 * ns / t, maps / 1024 }' "$dir/programs" >"$dir/n"
		read -r us percent maps <"$dir/n"
		said_number "${1}_bpf_us" "$us"
		said_number "${1}_bpf_cpu" "$percent"
		said_number "${1}_maps" "$maps" ;;
	fp | dwarf)
		# What perf has gathered it writes when it ends.
		kill -INT "${who[0]}"
		wait "${who[0]}" 2>/dev/null
		size=$(($(stat -c %s "$dir/perf.data") - size))
		said_number "${1}_bytes" $((size * 15 / (seconds + 2) / 1024)) ;;
	esac
	cp "$dir/numbers" "$BUILD/profiler.numbers"
	kill -TERM "${who[0]}" 2>/dev/null
	wait "${who[0]}" 2>/dev/null
}
slowdown() { # NAME : of this round, in per cent of the two without
	awk -v name="$1" '{ r[$1] = $2 }
		END { none = (r["none"] + r["again"]) / 2
		printf "%.3f", 100 * (none - r[name]) / none }' "$dir/round"
}

phases=${PHASES-none again ours reference fp dwarf}
perf record -e cpu-clock -o "$dir/probe" -- true >"$dir/probe.log" 2>&1 || {
	echo "perf does not run: $(tail -n 1 "$dir/probe.log")"
	phases=${phases%fp dwarf}
}
: >"$dir/numbers"
for ((i = 1; i <= rounds; i++)); do
	: >"$dir/round"
	[ -z "${WALKERS-yes}" ] || compare_walkers
	for phase in $(shuf -e $phases); do measure "$phase"; done
	for phase in $phases; do
		[[ $phase = none || $phases != *again* ]] ||
			said_number "${phase}_slowdown" "$(slowdown $phase)"
	done
	# The two without: one against the other.
	[[ $phases != *again* ]] || said_number aa_noise "$(awk '{ r[$1] = $2 } END {
		d = 100 * (r["none"] - r["again"]) / r["none"]
		printf "%.3f", d < 0 ? -d : d }' "$dir/round")"
	echo "round $i of $rounds: $(tr '\n' ' ' <"$dir/round")"
done

# ---- medians ----
median() {
	awk -v n="$1" '$1 == n { print $2 }' "$dir/numbers" | sort -n |
		awk '{ v[NR] = $1 } END { if (NR > 0) print \
		    (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
m() { median "$1"; }
# figure NUMBER NAME UNIT [REFERENCE VALUE] : a row of a number's median
figure() {
	local number=$1
	shift
	[ -z "$(m "$number")" ] || SPREAD=$(awk -v n="$number" \
		'$1 == n { print $2 }' "$dir/numbers" | spread) \
		row "$1" "$(m "$number")" "${@:2}"
}
noise=$(m aa_noise)
figure bpf_ratio profiler_bpf_ratio ratio goal 0.7
figure both_ours_us profiler_bpf_beside us/sample "plain walker beside" \
	"$(m both_reference_us)"
figure startup_cpu_ms profiler_startup_cpu ms goal 500
[ -n "$phases" ] || exit 0
figure ours_bpf_us profiler_bpf us/sample "plain walker" \
	"$(m reference_bpf_us)"
figure ours_bpf_cpu profiler_bpf_cpu "% of a CPU" "plain walker" \
	"$(m reference_bpf_cpu)"
figure ours_cpu profiler_cpu "% of a CPU" goal 0.45
rss=$(m ours_rss) maps=$(m ours_maps)
figure ours_rss profiler_rss kB
figure ours_maps profiler_maps kB "plain walker" "$(m reference_maps)"
[ -z "$rss" ] || row profiler_memory $((${rss%.*} + ${maps%.*})) kB goal 49152
figure aa_noise profiler_noise "% between two times without"
for phase in again ours reference fp dwarf; do
	figure ${phase}_slowdown profiler_slowdown_$phase % noise "$noise"
done
for phase in fp dwarf; do
	figure ${phase}_cpu perf_${phase}_cpu "% of a CPU" ours "$(m ours_cpu)"
	figure ${phase}_bytes perf_${phase}_kB "kB in 15 s"
done
