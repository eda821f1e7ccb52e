#!/bin/bash
# A client that is slow to take an answer has the worker's whole time for that:
# what the request has waited and worked before does not break it off.
. tests/api/lib
END=1700000000
start
kill "$worker" && wait "$worker" 2>/dev/null
cat >"$T/conf" <<-END
	[worker]
	deadline = 15s
END
run_worker -j 1 -c "$T/conf"
slowly() # of an answer that no socket and pipe holds
{
	local query="query=test_gauge_bytes&from=1690200000&until=1699999600&step=10s"

	REQUEST_METHOD=GET REQUEST_URI="/api/v1/series?$query" \
		QUERY_STRING="$query" MEMLENS_SENT=$(($(date +%s) - 9)).5 \
		cgi-fcgi -bind -connect "$T/sock" </dev/null |
		(sleep 8; cat) >"$T/answer"
	sed '1,/^\r$/d' "$T/answer" >"$T/body"
}
check "it comes" slowly
check "and is whole" js 'd.series[0].points.length === 979960'
check "by a worker that goes on" js "$(grep -c 'took too long' "$T/log") === 0"
exit $bad
