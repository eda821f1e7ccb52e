# The daemon in a storm of processes, threads and libraries: common part of
# the system test and the benchmark; sourced after daemon-lib.bash.
storm=$BUILD/system/storm
mix=$BUILD/system/unwind_mix

# rss_kb PID, descriptors PID
rss_kb() {
	local kb
	kb=$(awk '/^VmRSS:/ { print $2 }' "/proc/$1/status" 2>/dev/null)
	echo "${kb:-0}"
}
descriptors() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }
# children PID
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }

storm_configure() {
	cat >"$dir/conf" <<-END
	[store]
	slot = 1s
	reserve = 0
	[cpu]
	rate = 199Hz
	[socket]
	path = $dir/sock
	END
}

# A library, and two programs of different functions.
storm_compile() {
	cat >"$dir/library.c" <<-'END'
	#include <time.h>
	volatile unsigned long long sum;
	__attribute__((noinline)) unsigned long long in_library(long ns)
	{
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		do {
			for (int i = 0; i < 1000; i++)
				sum = sum * 25214903917u + 11;
			clock_gettime(CLOCK_MONOTONIC, &b);
		} while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < ns);
		return sum;
	}
	END
	gcc -O2 -shared -fPIC -o "$dir/library.so" "$dir/library.c" || return 1
	local f
	for f in first second; do
		cat >"$dir/$f.c" <<-END
		volatile unsigned long long sum;
		$([ $f = second ] && echo 'char room[300000]; int unused(int x) { return x + room[x]; }')
		__attribute__((noinline)) void in_$f(void)
		{ for (int i = 0; i < 1000000; i++) sum = sum * 25214903917u + 11; }
		int main(void) { for (;;) in_$f(); }
		END
		gcc -O2 -o "$dir/reuse_$f" "$dir/$f.c" || return 1
	done
}

# storm_begin SECONDS RATE THREADS : everything at once; what is to be seen
# goes on for some minutes more
storm_begin() {
	local way half=$(($2 / 2)) long=$(($1 + 300)) pid_max
	begin "$dir/fork1" "$storm" fork $half "$1"
	begin "$dir/fork2" "$storm" fork $half "$1"
	begin "$dir/threads" "$storm" threads "$3" "$1"
	begin "$dir/library" "$storm" library "$dir/library.so" "$1"
	read -r pid_max </proc/sys/kernel/pid_max
	begin "$dir/reuse" "$storm" reuse $((pid_max - 600)) $long "$dir/reuse_first" \
		"$dir/reuse_second"
	for way in leader deleted; do
		cp "$mix" "$dir/mix_$way"
		begin "$dir/$way.log" "$dir/mix_$way" leader $long
	done
	# A container: mounts and pids of its own, its program on a file
	# system that nobody else sees.
	mkdir -p "$dir/jail"
	begin "$dir/jail.log" unshare --mount --pid --fork --kill-child bash -c '
		mount -t tmpfs none "$1" && cp "$2" "$1/mix_jail" &&
		"$1/mix_jail" threads "$3"' jail "$dir/jail" "$mix" $long
	sleep 0.3
	rm -f "$dir/mix_deleted"
}

# storm_watch PID SECONDS : the most that the daemon and its child took, in
# $most_rss_kb and $most_descriptors, and the least in $least_rss_kb
storm_watch() {
	local end=$((SECONDS + $2)) rss fds p
	most_rss_kb=0 most_descriptors=0 least_rss_kb=99999999
	while ((SECONDS < end)) && kill -0 "$1" 2>/dev/null; do
		rss=0 fds=0
		for p in $1 $(children "$1"); do
			rss=$((rss + $(rss_kb "$p")))
			fds=$((fds + $(descriptors "$p")))
		done
		((rss <= most_rss_kb)) || most_rss_kb=$rss
		((rss >= least_rss_kb)) || least_rss_kb=$rss
		((fds <= most_descriptors)) || most_descriptors=$fds
		sleep 0.5
	done
}

# total NAME : increase of a counter over the whole recording, in $dir/all
total() {
	awk -v name="memlens_profile_$1_total" '
		$1 == "counter" && $2 == name { n += $3 }
		END { print n + 0 }' "$dir/all"
}

# storm_balance : the recording's runs, and those of no fate, in $unaccounted
storm_balance() {
	local idle lost samples
	python3 tests/system/mlb-stacks.py "$dir/rec" 0 >"$dir/all"
	runs=$(total runs) idle=$(total idle)
	lost=$(total samples_lost) samples=$(total samples)
	unaccounted=$((runs - idle - lost - samples))
	echo "# $runs runs, $idle idle, $lost lost, $samples stored; at most" \
		"$most_rss_kb kB, $most_descriptors descriptors"
}
