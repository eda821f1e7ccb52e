#!/bin/bash
# Records the loaded LevelDB service, with the host around it, as memlensd -w
# does: a real profile for the benchmarks.  Needs root.
#
#	record.sh BUILD SECONDS FILE [RATE]     RATE: requests a second
#
# The wall clock of the daemon and the scraper is set on, so that the first
# whole slot is the first of 64 that are sealed together: a recording of 660 s
# is enough for a whole file, whenever it is made.
set -eu
build=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:?how long}
record=$(readlink -f "${3:?file of the recording}")
rate=${4:-1000}
port=${PORT:-21101}
dir=$(mktemp -d)
pids=()
stop() {
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM
chmod 755 "$dir"
mkdir "$dir/db"
cat >"$dir/memlens.conf" <<END
[store]
directory = $dir/store

[socket]
path = $dir/memlensd.sock

[service kvservice]
comm = ^kv
command = kvservice
END
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/memlensd.sock

[target kvservice]
service = kvservice
leveldb = http://127.0.0.1:$((port + 1))/transaction_data
prometheus = http://127.0.0.1:$((port + 1))/metrics
END
export WRONG_CLOCK=$dir/clock
python3 - "$(date +%s)" >"$WRONG_CLOCK" <<-'END'
	import struct, sys
	now = int(sys.argv[1])
	sys.stdout.buffer.write(struct.pack('=q', (-now - 5) % 640))
	END
clocked="env LD_PRELOAD=$build/api/wrong_clock.so"
start() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$dir/$name.log" 2>&1 &
	pids+=($!)
}
start kvservice "$build/kvservice" --port "$port" --stats-port $((port + 1)) \
	--db "$dir/db"
sleep 1
start kvload "$build/kvload" --port "$port" --duration 0 --rate "$rate"
start memlensd $clocked "$build/memlensd" -f "$dir/memlens.conf" -w "$record"
for _ in $(seq 100); do
	[ ! -S "$dir/memlensd.sock" ] || break
	sleep 0.1
done
start scrape $clocked "$build/memlens-scrape" -f "$dir/scrape.conf"
for ((left = seconds; left > 0; left--)); do
	sleep 1
	kill -0 "${pids[@]}" 2>/dev/null || {
		tail -n 3 "$dir"/*.log >&2
		exit 1
	}
done
