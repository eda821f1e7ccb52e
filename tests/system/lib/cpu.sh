# Common parts of the CPU profiler's system tests; sourced.
#
# Every process of the machine is sampled, those of another run of the same
# test, too: programs have names of this test alone.  And what is sampled is
# a matter of what else wants the CPU: a test samples until what it waits for
# has been seen, not for a time.
set -u
BUILD=${BUILD:?folder of the build}
driver=$BUILD/system/cpu_driver
dir=$(mktemp -d)
pids=
tag=$(LC_ALL=C tr -dc a-z </dev/urandom | head -c 6)
before_end() { :; } # a test may have more to end
trap 'before_end; kill -9 $pids 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

# own PROGRAM NAME : a copy of it as $dir/NAME_TAG; NAME of 8 letters at most,
# for the kernel knows 15 of a program's name
own() { cp "$1" "$dir/$2_$tag" && chmod 755 "$dir/$2_$tag"; }
busy_name=busy_$tag
busy=$dir/$busy_name
own "$BUILD/system/cpu_busy" busy

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '# %s\n' "$@"; }

# expect NAME ACTUAL TEST... : the test(1) expression decides
expect() {
	local name=$1 said=$2
	shift 2
	if [ "$@" ]; then ok "$name"; else not_ok "$name" "$said"; fi
}

# begin COMMAND... : in the background, ended with the test
begin() {
	"$@" &
	last=$!
	pids="$pids $last"
}

# await SECONDS COMMAND... : until it succeeds
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.1
	done
}

# threads NAME... : are there threads of these names, of the process $last?
threads() {
	local name
	for name in "$@"; do
		grep -qsx "$name" "/proc/$last/task"/*/comm || return
	done
}

# begin_busy SECONDS : a program of known shape, all of its threads at work
begin_busy() {
	begin "$busy" "$1"
	await 60 threads worker-11 worker-12
}

# begin_driver ARGUMENTS... : samples into $out until end_driver
begin_driver() {
	: >"$out"
	"$driver" "$@" -n 100000 >"$out" 2>"$dir/err" &
	driver_pid=$!
	pids="$pids $driver_pid"
}

# seen COMMAND... : waits for something in $out, some minutes at most
seen() {
	local slots=-1 now end=$((SECONDS + ${SEEN_SECONDS:-240}))
	while ((SECONDS < end)) && kill -0 "$driver_pid" 2>/dev/null; do
		now=$(grep -c '^child' "$out")
		if [ "$now" != "$slots" ]; then
			"$@" && return
			slots=$now
		fi
		sleep 0.1
	done
	return 1
}

# end_driver : $status is the profiler's
end_driver() {
	kill -TERM "$driver_pid" 2>/dev/null
	wait "$driver_pid"
	status=$?
	need_attached "$out"
}

# sample_until COMMAND [ARGUMENTS...] : samples into $out until the command,
# mostly a function of the test, is content with it
sample_until() {
	local content=$1
	shift
	begin_driver "$@"
	seen "$content"
	end_driver
}

# at_least N PATTERN : are there so many samples in $out?
at_least() { [ "$(samples "$out" "$2")" -ge "$1" ]; }

# The profiler needs rights that not every machine gives.
need_attached() {
	grep -q '^state 1 ' "$1" && return
	echo "skip - cpu profiler: $(grep '^state' "$1")"
	exit 77
}

# samples FILE PATTERN : sum of the values of the stacks that match, of
# programs of this test: on a busy machine most are others'.  The pattern goes
# by the environment: what "\*" becomes in awk's -v differs between awks.
samples() {
	grep -aF "$tag" "$1" | P=$2 awk '/^stack / && $0 ~ ENVIRON["P"] {
		n += $NF } END { printf "%.0f\n", n }'
}

# balanced FILE : every run of the BPF program is accounted for
balanced() {
	awk '/^balance / { ok = $2 == $3 + $4 + $5 && $2 > 0 }
		END { exit !ok }' "$1"
}

# counted FILE : and the kernel has counted as many runs
counted() {
	awk '/^kernel / { k = $2 } /^balance / { b = $2 }
		END { exit !(k == b && b > 0) }' "$1"
}

# Something to do on each CPU, all the time.
keep_cpus_busy() {
	local cpu
	for cpu in $(seq 0 $(($(nproc --all) - 1))); do
		begin taskset -c "$cpu" sh -c 'while :; do :; done' 2>/dev/null
	done
}
