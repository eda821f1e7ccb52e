# Common parts of the CPU profiler's system tests; sourced.
set -u
BUILD=${BUILD:?folder of the build}
driver=$BUILD/system/cpu_driver
busy=$BUILD/system/cpu_busy
dir=$(mktemp -d)
pids=
before_end() { :; } # a test may have more to end
trap 'before_end; kill -9 $pids 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

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

# The profiler needs rights that not every machine gives.
need_attached() {
	grep -q '^state 1 ' "$1" && return
	echo "skip - cpu profiler: $(grep '^state' "$1")"
	exit 77
}

# samples FILE PATTERN : sum of the values of the stacks that match
samples() {
	awk -v p="$2" '/^stack / && $0 ~ p { n += $NF } END { print n + 0 }' \
		"$1"
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
