#!/bin/bash
# /render, /render-diff, /labels, /label-values, /api/apps: Pyroscope's own
# bytes.
. tests/api/lib
. tests/api/stack
start_stack
at="from=1610000000&until=1610000010"
printf 'a;b 1\na;c 2\n' >"$T/one"
printf 'a;b 4\na;c 8\n' >"$T/two"
put "$T/one" "/ingest?name=$(enc 'app.cpu{region=eu,pod=x1}')&$at&sampleRate=100"
put "$T/two" "/ingest?name=$(enc 'app.cpu{region=us}')&from=1610000010&until=1610000020"
printf 'a 5\n' >"$T/five"
put "$T/five" "/ingest?name=gone.inuse_space&units=bytes&$at"
printf 'a 4\n' >"$T/four"
put "$T/one" "/ingest?name=other.dashed-type&$at"

get GET "/render?query=$(enc 'app.cpu{region="eu"}')&$at&format=json"
check "single: golden levels" js 'JSON.stringify(d.flamebearer.levels.map(
    (l) => l.map((v, i) => i % 4 === 3 ? v : v / 1e7))) ===
    "[[0,3,0,0],[0,3,0,1],[0,1,1,2,0,2,2,3]]" &&
    d.flamebearer.names.join() === "total,a,b,c" &&
    d.flamebearer.numTicks === 3e7 && d.flamebearer.maxSelf === 2e7'
check "version and metadata" js 'd.version === 1 &&
    d.metadata.format === "single" && d.metadata.sampleRate === 1e9 &&
    d.metadata.units === "samples" && d.metadata.appName === "app.cpu"'
get GET "/render?query=app.cpu&from=1610000000&until=1610000040"
check "timeline: one more where there is data" js 'd.timeline.durationDelta ===
    10 && d.timeline.startTime === 1610000000 &&
    d.timeline.samples.join() === "30000001,120000001,0,0" &&
    d.groups["*"].samples.join() === "30000001,120000001,0,0"'
get GET "/pyroscope/render?query=$(enc 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="app"}')&from=1610000000&until=1610000040"
check "the newer one: not" js 'd.timeline.samples.join() === "30000000,120000000,0,0" &&
    d.flamebearer.numTicks === 15e7'
get GET "/render?query=app.cpu&from=1610000000&until=1610000040&groupBy=region"
check "groupBy" js 'd.groups.eu.samples.join() === "30000001,0,0,0" &&
    d.groups.us.samples.join() === "0,120000001,0,0"'
get GET "/render?query=$(enc 'app.cpu{region=~"e"}')&$at"
check "expressions are not anchored" js 'd.flamebearer.numTicks === 3e7'
get GET "/render?query=$(enc 'app.cpu{region!="zz",other!~"x.*"}')&$at"
check "labels that are not there match" js 'd.flamebearer.numTicks === 3e7'
get GET "/render?name=$(enc 'app.cpu{region=eu}')&$at"
check "name in place of query" js 'd.flamebearer.numTicks === 3e7'
get GET "/render?query=$(enc 'cpu{service="app"}')&$at"
check "our own language" js 'd.flamebearer.numTicks === 3e7'
get GET "/render?query=nothing.cpu&$at"
check "no data: an empty tree" js '
    JSON.stringify(d.flamebearer.levels) === "[[0,0,0,0]]" &&
    d.flamebearer.names.join() === "total" &&
    d.timeline.samples.join() === "0"'
get GET "/render?query=app.cpu&$at&max-nodes=2"
check "what was cut is other" js 'd.flamebearer.names.includes("other") &&
    d.flamebearer.numTicks === 3e7'
get GET "/render?query=app.cpu&$at&format=collapsed"
check "collapsed" [ "$(cat "$T/body")" = "a;b 10000000
a;c 20000000" ]
check "in nanoseconds" header 'MemLens-Unit: nanoseconds'
check "as a file" header "Content-Disposition: attachment"
get GET "/render?query=app.cpu&$at&format=pprof"
check "pprof in gzip" [ "$(head -c 2 "$T/body" | od -An -tx1)" = " 1f 8b" ]
wide="from=1610000000&until=1610000020"
for way in "render?query=app.cpu&$wide&format=pprof" \
    "api/v1/flamegraph.pprof?query=$(enc 'cpu{service="app"}')&$wide"; do
	get GET "/$way"
	cp "$T/body" "$T/back"
	name=back-${way%%[/?]*}
	put "$T/back" "/ingest?name=$name&$at&format=pprof"
	check "$name: labels of stacks come back" test "$(counted \
	    "cpu{service=\"$name\",region=\"eu\",pod=\"x1\"}" 1610000000 \
	    1610000020) $(counted "cpu{service=\"$name\",region=\"us\"}" \
	    1610000000 1610000020)" = "3 12"
done
get GET "/render?query=app.cpu&$at&format=html"
check "html" grep -q '<html' "$T/body"
get GET "/render?query=gone.inuse_space&$at"
check "bytes" js 'd.metadata.units === "bytes" && d.flamebearer.numTicks === 5'
get GET "/render?$at"
check "no query: 400" status 400
get GET "/render?query=app.cpu&format=nope"
check "an unknown format: 400" status 400
get GET "/render?query=$(enc 'app.cpu{region=eu}')"
check "no quotes: 400" status 400

q="leftQuery=app.cpu&leftFrom=1610000000&leftUntil=1610000010&rightQuery=app.cpu&rightFrom=1610000010&rightUntil=1610000020"
get GET "/render-diff?$q"
check "double: golden levels" js 'JSON.stringify(d.flamebearer.levels.map(
    (l) => l.map((v, i) => i % 7 === 6 ? v : v / 1e7))) ===
    "[[0,3,0,0,12,0,0],[0,3,0,0,12,0,1],[0,1,1,0,4,4,2,0,2,2,0,8,8,3]]" &&
    d.flamebearer.numTicks === 15e7 && d.flamebearer.maxSelf === 8e7 &&
    d.leftTicks === 3e7 && d.rightTicks === 12e7 && d.timeline === null &&
    d.metadata.format === "double"'
get GET "/pyroscope/render-diff?$q"
check "double: newer path" status 200
get GET "/render-diff?leftQuery=app.cpu&leftFrom=1610000000&leftUntil=1610000010&rightQuery=gone.inuse_space&rightFrom=1610000000&rightUntil=1610000010"
check "two units: 400" status 400
get GET "/render-diff?$q&format=html"
check "double: html" grep -q '<iframe title="Flame graph"' "$T/body"
check "both sides in its table" grep -q \
    '>c</th><td>[a-z]*</td><td>20</td><td>80</td><td>+0.00</td>' "$T/body"
get GET "/render-diff?$q&format=collapsed"
check "double: no other format" status 400

get GET "/labels?query=app.cpu"
check "labels" js 'd.join() === "__name__,pod,region"'
get GET "/label-values?label=region&query=app.cpu"
check "label values" js 'd.join() === "eu,us"'
get GET "/label-values?label=__name__"
check "applications" js 'd.includes("app.cpu") &&
    d.includes("gone.inuse_space")'
jq -r .[] "$T/body" | sort >"$T/names"
get GET "/api/apps"
jq -r .[].name "$T/body" | sort >"$T/apps"
check "which are those of /api/apps, none read by its stacks" \
    diff "$T/names" "$T/apps"
get GET "/label-values"
check "no label: 400" status 400
put "$T/two" "/ingest?name=app.cpu&$at&sampleRate=50"
get GET "/api/apps"
check "each application once, whatever its rates" js \
    'd.filter(a => a.name === "app.cpu").length === 1'
check "apps" js 'd.some(a => a.name === "app.cpu" && a.sampleRate === 100 &&
    a.units === "samples") && d.some(a => a.name === "gone.inuse_space" &&
    a.units === "bytes")'
exit $bad
