#!/bin/bash
# A minute of 1,000 short processes a second, 500 threads, libraries, pids in
# use again: what the daemon takes, and whether it takes more and more.
#
#   storm.sh BUILD [SECONDS]
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-60}
. tests/system/daemon-lib.bash
. tests/system/lib/storm.sh
. tests/bench/lib.sh
storm_configure
storm_compile && start_daemon d -s "$dir/store" -w "$dir/rec" || exit 1
d=$last
said "$dir/d.log" "source cpu: attached" || { cat "$dir/d.log"; exit 1; }
processes() { find /proc -maxdepth 1 -name '[1-9]*' 2>/dev/null | wc -l; }
before=$(($(descriptors "$d") - $(processes)))
storm_begin "$seconds" 1000 500
third=$((seconds / 3)) failed=0
storm_watch "$d" $third # warming up
storm_watch "$d" $third
second_kb=$most_rss_kb second_fds=$most_descriptors
storm_watch "$d" $third
echo "second third: $second_kb kB, $second_fds descriptors;" \
	"last: $most_rss_kb kB, $most_descriptors descriptors"
sleep 10
kill -0 "$d" || { echo "the daemon has ended"; exit 1; }
calm=$(($(descriptors "$d") - $(processes)))
end "$d"
[ "$status" = 0 ] || failed=1
storm_balance
made=$(cat "$dir"/fork[12] | awk '{ n += $2 } END { print n + 0 }')
row storm_processes $((made / seconds)) 1/s asked 1000
row storm_rss "$most_rss_kb" kB "second third" "$second_kb"
row storm_descriptors "$most_descriptors" descriptors "second third" \
	"$second_fds"
row storm_samples "$runs" samples
row storm_lost "$(total samples_lost)" samples samples "$runs"
row storm_unaccounted "$unaccounted" samples samples "$runs"
if ((most_rss_kb > second_kb + 16384 || most_rss_kb > 98304)); then
	echo "memory grows, or is over 96 MB"
	failed=1
fi
# The daemon keeps the file stat of each living process open.
if ((calm > before + 100)); then
	echo "descriptors leak: $before before, $calm after"
	failed=1
fi
((unaccounted >= 0 && unaccounted * 100 <= runs)) ||
	{ echo "samples are not accounted for"; failed=1; }
exit $failed
