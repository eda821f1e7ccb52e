# Common parts of the daemon's system tests; sourced.  Each test has its own
# folder, and ends what it has started by its pid.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=${BUILD:?folder of the build}
dir=$(mktemp -d)
pids=()
trap finish EXIT

finish() {
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
	wait 2>/dev/null
	rm -rf "$dir" 2>/dev/null || { sleep 1; rm -rf "$dir"; }
}

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '%s\n' "$@" | tail -n 20 | sed 's/^/# /'; }
# expect NAME GOT WANT
expect() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got $2" "want $3"; fi; }
# expect_text NAME TEXT PATTERN (a grep expression)
expect_text() {
	if grep -q -e "$3" <<<"$2"; then ok "$1"; else not_ok "$1" "$2"; fi
}
# expect_true NAME COMMAND...
expect_true() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "$*"; fi
}

# begin LOG COMMAND... : in the background; its pid is $last
begin() {
	local log=$1
	shift
	: >"$log"
	"$@" >"$log" 2>&1 &
	last=$!
	pids+=("$last")
}

# end PID [SIGNAL] : its status is $status
end() {
	kill "-${2:-TERM}" "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	status=$?
}

# await SECONDS COMMAND... : until it succeeds
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.05
	done
}
said() { grep -q -e "$2" "$1"; }
ready() { await 60 said "$1" "ready: "; }

# A configuration with short slots and no CPU sampler: $dir/conf
configure() {
	cat >"$dir/conf" <<-END
	[store]
	slot = ${1:-200ms}
	reserve = 0
	[cpu]
	enabled = no
	[procfs]
	interval = ${2:-200ms}
	[services]
	short-lived = 0s
	[socket]
	path = $dir/sock
	END
}

# start_daemon NAME ARGUMENTS... : waits until it is ready; its log is
# $dir/NAME.log, its pid $last
start_daemon() {
	local name=$1
	shift
	begin "$dir/$name.log" "$BUILD/memlensd" -f "$dir/conf" "$@"
	ready "$dir/$name.log" || not_ok "$name is ready" "$(cat "$dir/$name.log")"
}

mlb() { python3 tests/system/mlb.py "$@"; }
# slots RECORDING : of the daemon's records, each of which is of one slot.
# What is asked over and over is told without reading all that was recorded:
# a busy machine would never get to its end.
slots() { mlb "$1" slots | sort -un; }
# has RECORDING PATTERN : of late; slots_are N RECORDING : so far
has() { mlb "$1" blocks 20 2>/dev/null | grep -q -e "$2"; }
slots_are() { [ -s "$2" ] && [ "$(slots "$2" 2>/dev/null | wc -l)" -ge "$1" ]; }
need_root() { [ "$(id -u)" = 0 ] || { echo "skip - $1: needs root"; exit 77; }; }
