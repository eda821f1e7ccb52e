#!/bin/bash
# One worker process that is read from for an hour, while the writer of its
# store seals and merges fifty slots a second: is its memory flat, do its
# descriptors stay few?
#
#	worker.sh BUILD [SECONDS]
#
# The questions ask for what has just been written, for all of it and for
# ranges in between.  Memory and descriptors are looked at every ten seconds;
# the first fifth of the time, in which caches fill, is left out.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-3600} port=${PORT:-21791}
. tests/bench/lib.sh
dir=$(mktemp -d)
trap end_all EXIT
trap 'exit 1' INT TERM
mkdir -p "$dir"/{nginx,sockets,log,www}

begin "$BUILD/system/store_kill" writer "$dir/store" "$dir/log/writer" 0
until grep -q ^open "$dir/log/out"; do sleep 0.1; done
began=$(date +%s)
begin_worker || exit 1
base=http://127.0.0.1:$port/api/v1

query='query=cpu%7Bservice%3D%22kv%22%7D'
# questions NOW : a second's, as curl's configuration
questions() {
	local from until what
	for what in flamegraph.svg table.json flamegraph.json series \
		flamegraph.pprof flamegraph.svg flamegraph.folded health; do
		until=$((began + RANDOM % ($1 - began + 1)))
		from=$((until - RANDOM % 600))
		case $RANDOM in
		*[0-4]) until=$1 from=$(($1 - 10)) ;;
		*5) until=$1 from=$began ;;
		esac
		echo "url = \"$base/$what?$query&from=$from&until=$((until + 1))\""
		echo "output = /dev/null"
	done
}

asked=0 failed=0 found=0 looks=0
rss_low=0 rss_high=0 fds_high=0
end=$((SECONDS + seconds)) settled=$((SECONDS + seconds / 5))
while ((SECONDS < end)); do
	questions "$(date +%s)" >"$dir/ask"
	codes=$(curl -s -K "$dir/ask" -w '%{http_code}\n')
	asked=$((asked + $(grep -c . <<<"$codes")))
	failed=$((failed + $(grep -vcE '^(200|404)$' <<<"$codes")))
	found=$((found + $(grep -c '^200' <<<"$codes")))
	sleep 0.7
	((SECONDS >= settled + 10 * looks)) || continue
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$worker/status") || break
	fds=$(ls "/proc/$worker/fd" | wc -l)
	looks=$((looks + 1))
	echo "worker: $((end - SECONDS)) s left: $rss kB, $fds descriptors, $asked asked"
	((rss_low != 0)) || rss_low=$rss
	((rss <= rss_high)) || rss_high=$rss
	((fds <= fds_high)) || fds_high=$fds
done
((looks > 0)) || { cat "$dir/log/out"; exit 1; }
row "worker, questions in $seconds s" "$asked" requests
row "worker, found of them" "$found" requests
row "worker, failed of them" "$failed" requests goal 0
row "worker, resident at most" "$rss_high" kB "after a fifth of the time" \
	"$rss_low"
row "worker, descriptors at most" "$fds_high" files
row "worker, files of the store" "$(find "$dir/store" -type f | wc -l)" files
[ "$failed" = 0 ]
