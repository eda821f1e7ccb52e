#!/bin/bash
# A range within a span that retention has left alone: whatever is asked, and
# however it is told, the answer is that of the whole span.
. tests/api/lib
END=1700000000 SLOTS=10000 FINE=1000
start
# 100 slots long past, in the span of 4,096 slots from 1699921920 on, of which
# 3,686 have data
r='from=1699930000&until=1699931000'
b='from-b=1699999000&until-b=1699999900'
q=$(enc 'cpu{service="kv"}')
samples=$((3686 * 6))
ns=$((samples * 10101010))
range='MemLens-Range: 1699921920-1699962880'
span='d.from === 1699921920 && d.until === 1699962880'
says()
{
	grep -qx "$range" "$T/head"
}
sum() # of the numbers that end the lines
{
	awk '{ n += $NF } END { printf "%.0f\n", n }' "$T/body"
}
get GET "/api/v1/flamegraph.json?query=$q&$r"
check "flamegraph.json" js "((d) => $span && d.state === 'data' &&
    /whole spans/.test(d.why) && d.total === $ns && d.samples === $samples)(
    d.memlens) && d.flamebearer.numTicks === $ns"
check "in a header, too" says
get GET "/api/v1/table.json?query=$q&$r&function=main&step=60s"
check "table.json" js "$span && d.total === $ns &&
    d.rows.find((r) => r.name === 'main').total === $ns"
check "over_time has the span as one step" js "
    d.over_time.step === 40960 && d.over_time.points.length === 1 &&
    d.over_time.points[0][0] === 1699921920 &&
    d.over_time.points[0][2] === $ns"
get GET "/api/v1/sandwich.json?query=$q&$r&function=main"
check "sandwich.json" js "$span && d.function.total === $ns"
get GET "/api/v1/diff.json?query=$q&$r&$b"
check "diff.json" js "d.leftTicks === $ns && ((d) => $span)(d.a) &&
    /whole spans/.test(d.a.why) && d.b.from === 1699999000 &&
    d.b.why === ''"
get GET "/api/v1/flamegraph.svg?query=$q&$r"
check "a picture" grep -q '22,116 samples' "$T/body"
check "with its time" grep -q '00:32:00 to .*11:54:40' "$T/body"
check "and its header" says
get GET "/api/v1/flamegraph.folded?query=$q&$r"
check "folded text" [ "$(sum)" = $ns ]
check "with its header" says
get GET "/api/v1/flamegraph.speedscope.json?query=$q&$r"
check "speedscope" js "d.profiles[0].endValue === $ns"
get GET "/api/v1/table.csv?query=$q&$r"
check "a table to be saved" grep -q "^\"main\",user,[0-9]*,$ns," "$T/body"
get GET "/api/v1/compare.json?$r&$b"
check "compare.json" js "((d) => $span)(d.a) && /whole spans/.test(d.a.why) &&
    d.b.why === ''"
get GET "/api/v1/series?query=test_gauge_bytes&$r&step=60s"
check "series" js "$span && d.step === 40960 && /whole spans/.test(d.why)"
get GET "/render?query=$q&$r"
check "/render" js "d.flamebearer.numTicks === $ns &&
    d.timeline.samples.join() === '$((ns + 1))' &&
    d.metadata.startTime === 1699921920 && d.metadata.endTime === 1699962880"
get GET "/render?query=$q&$r&format=collapsed"
check "/render as text" [ "$(sum)" = $ns ]
id=process_cpu:cpu:nanoseconds:cpu:nanoseconds
ask() # METHOD MORE
{
	printf '{"profile_typeID":"%s","label_selector":"{service_name=\\"kv\\"}",
	    "start":1699930000000,"end":1699931000000%s}' $id "$2" >"$T/ask"
	BODY=$T/ask get POST "/querier.v1.QuerierService/$1" \
	    CONTENT_LENGTH="$(stat -c %s "$T/ask")" \
	    CONTENT_TYPE=application/json
}
ask SelectMergeStacktraces ''
check "SelectMergeStacktraces" js "+d.flamegraph.total === $ns"
ask SelectSeries ',"step":60'
check "SelectSeries" js "d.series[0].points.length === 1 &&
    d.series[0].points[0].value === $ns"
# beyond the border of two spans: both
get GET "/api/v1/flamegraph.json?query=$q&from=1699962000&until=1699963000"
check "a range over a border is widened to both spans" js '
    d.memlens.from === 1699921920 && d.memlens.until > 1699962880'
# what is kept as it was stays as it was asked for
get GET "/api/v1/flamegraph.json?query=$q&from=1699999000&until=1699999900"
check "single slots that are kept are not widened" js '
    d.memlens.from === 1699999000 && d.memlens.until === 1699999900 &&
    d.memlens.why === ""'
check "and no header says so" [ -z "$(grep MemLens-Range "$T/head")" ]
exit $bad
