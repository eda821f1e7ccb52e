#!/bin/sh
# A long-lived worker keeps its size, whatever it is asked.
. tests/api/lib
sanitized && {
	echo "skip - memory: built with sanitizers"
	exit 77
}
cat >"$T/conf" <<-END
	[graph g]
	bazel = tests/data/kv_service-full.graph
	[graph e]
	elf = kv
	END
start -j 1 -c "$T/conf"
cpu=$(enc 'cpu{service="kv"}')
round()
{
	for u in health services "series?query=test_gauge_bytes" \
	    "series?query=%7Ba!=%22b%22%7D" "flamegraph.json?query=$cpu" \
	    "flamegraph.svg?query=cpu&focus=r" "flamegraph.json?query=cpu{" \
	    "flamegraph.json?query=cpu&focus=(" "series?query=a&step=x" \
	    "flamegraph.json?query=cpu%7Bservice=%22nobody%22%7D" \
	    "graph.json?depth=$((2 + $1 % 3))" "graph.svg?target=e" \
	    "graph.json?target=none" "kv/a" nothing; do
		get GET "/api/v1/$u"
	done
	get GET /metrics
}
size()
{
	child=$(cat /proc/$worker/task/$worker/children)
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/${child%% *}/status
}
# A worker gives memory back a second after its first question: the most of
# these rounds is what it needs.
before=0
for i in 1 2 3 4 5 6 7 8; do
	round $i
	now=$(size)
	[ "$now" -gt "$before" ] && before=$now
done
for i in $(seq 40); do round $i; done
after=$(size)
rm -f "$T/head" "$T/body"
check "640 requests later: $before kB, then $after kB" \
    [ "$after" -le $((before + 512)) ]
exit $bad
