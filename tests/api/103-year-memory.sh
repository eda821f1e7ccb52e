#!/bin/bash
# An answer over a year that nothing is cut from is made in bounded memory: of
# 20,000 stacks of their own and 103,000 nodes, by a worker that has just begun.
. tests/api/lib
sanitized && {
	echo "skip - a year's memory: built with sanitizers"
	exit 77
}
"$B/bench/store_year" write "$T/store" 100 200 >"$T/written"

# The highest that the one worker took so far, in MB.
highest()
{
	child=$(cat "/proc/$worker/task/$worker/children")
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' \
	    "/proc/${child%% *}/status" | awk '{ print int($1 / 1024) }'
}
year='max-nodes=-1&from=0&until=1900000000&query=cpu%7Bservice%3D%22kv%22%7D'
# What each took as this was written, and a fifth more.
for row in 'table.json 20 24' 'flamegraph.json 35 42' \
    'flamegraph.pprof 42 50'; do
	set -- $row
	run_worker -j 1
	get GET "/api/v1/$1?$year"
	check "a year by $1" status 200
	now=$(highest)
	check "in $now MB, at most $3" [ "${now:-999}" -le "$3" ]
	kill $worker
	wait $worker
done
exit $bad
