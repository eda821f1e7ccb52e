#!/bin/bash
# Two builds of one store under the same load, as a person would compare them
# in MemLens: each sentence of the comparison is filled in from JSON alone
# (builds.py), and held against what the store has measured itself.
#
#   builds.sh BUILD [SECONDS]
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${2:-30}
. tests/bench/lib.sh
. tests/live/port.sh
free_port port
begin_as_root "$@"
mkdir "$dir/store"
cat >"$dir/conf" <<END
[store]
directory = $dir/store
slot = 2s
reserve = 0
[socket]
path = $dir/socket
[offcpu]
enabled = yes
threshold = 100us
budget = 0%
[lock]
enabled = yes
END
cat >"$dir/scrape" <<END
[scrape]
socket = $dir/socket
slot = 2s
interval = 500ms
[target lsm]
service = lsm
prometheus = http://127.0.0.1:$port/metrics
END
begin nice -n -5 "$BUILD/memlensd" -f "$dir/conf"
for _ in $(seq 300); do [ -S "$dir/socket" ] && break; sleep 0.1; done
begin "$BUILD/memlens-scrape" -f "$dir/scrape"
begin "$BUILD/memlens-fcgi" -s "$dir/store" -p all -j 1 -l "$dir/worker"
sleep 4
for build in 1 2; do
	cp "$BUILD/bench/builds_lsm" "$dir/lsm_$build"
	"$dir/lsm_$build" "$build" "$seconds" "$port" "$dir/data" \
		>"$dir/says_$build"
	sleep 2
	date +%s >"$dir/until_$build"
	sleep 3
done
sleep 4
python3 tests/bench/builds.py "$dir" >"$dir/answer"
status=$?
grep -v '^row ' "$dir/answer"
while read -r _ name value unit said; do
	row "builds_$name" "$value" "$unit" "the program" "$said"
done < <(grep '^row ' "$dir/answer")
exit $status
