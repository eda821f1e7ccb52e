#!/bin/bash
# Connect's querier service, as Grafana asks it: JSON and protobuf.
. tests/api/lib
. tests/api/stack
start_stack
printf 'a;b 1\na;c 2\n' >"$T/one"
printf 'a;b 4\na;c 8\n' >"$T/two"
put "$T/one" "/ingest?name=$(enc 'app.cpu{region=eu,otel.scope.name=x}')&from=1610000000&until=1610000010&sampleRate=100"
put "$T/two" "/ingest?name=$(enc 'app.cpu{region=us}')&from=1610000010&until=1610000020&sampleRate=100"
put "$T/two" "/ingest?name=app.inuse_space&units=bytes&from=1610000000&until=1610000010"
id=process_cpu:cpu:nanoseconds:cpu:nanoseconds
span='"start":"1610000000000","end":1610000020000'

ask()
{
	printf '%s' "$2" >"$T/ask.json"
	put "$T/ask.json" "/querier.v1.QuerierService/$1" \
	    CONTENT_TYPE=application/json
}
# the same by protobuf, made and read by protoc
proto()
{
	printf '%s' "$2" | protoc --encode="connect.$1Request" -Ifcgi/format \
	    connect.proto >"$T/ask.bin"
	put "$T/ask.bin" "/querier.v1.QuerierService/$1" \
	    CONTENT_TYPE=application/proto
	protoc --decode="connect.$1Response" -Ifcgi/format connect.proto \
	    <"$T/body" >"$T/text" 2>&1
	cp "$T/text" "$T/body"
}

ask ProfileTypes "{$span}"
check "ProfileTypes" js 'd.profileTypes.some(t => t.ID ===
    "process_cpu:cpu:nanoseconds:cpu:nanoseconds" && t.sampleType === "cpu" &&
    t.name === "process_cpu") && d.profileTypes.some(t => t.ID ===
    "memory:inuse_space:bytes:space:bytes")'
ask LabelNames "{$span}"
check "LabelNames" js '["service_name", "__profile_type__", "region",
    "otel.scope.name"].every(n => d.names.includes(n))'
ask LabelValues "{$span,\"name\":\"region\"}"
check "LabelValues" js 'd.names.join() === "eu,us"'
ask LabelValues "{$span,\"name\":\"service_name\",\"matchers\":[\"{__profile_type__=\\\"$id\\\"}\"]}"
check "LabelValues of services" js 'd.names.join() === "app"'
ask Series "{$span,\"labelNames\":[\"service_name\",\"__profile_type__\"]}"
check "Series: what the page lists services by" js 'd.labelsSet.length === 2 &&
    d.labelsSet.every(s => s.labels[0].name === "service_name" &&
    s.labels[0].value === "app" && s.labels[1].name === "__profile_type__")'
ask SelectMergeStacktraces "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{service_name=\\\"app\\\",region=\\\"eu\\\"}\"}"
check "SelectMergeStacktraces in nanoseconds" js '
    d.flamegraph.total === "30000000" &&
    d.flamegraph.levels[2].values.join() ===
    "0,10000000,10000000,2,0,20000000,20000000,3" &&
    d.flamegraph.names.join() === "total,a,b,c" &&
    d.flamegraph.maxSelf === "20000000"'
ask SelectMergeStacktraces "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{\\\"otel.scope.name\\\"=\\\"x\\\"}\"}"
check "names in quotes" js 'd.flamegraph.total === "30000000"'
ask SelectMergeStacktraces "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
check "{} is all" js 'd.flamegraph.total === "150000000"'
ask SelectSeries "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\",\"step\":10,\"groupBy\":[\"region\"]}"
check "SelectSeries: points by group" js 'd.series.length === 2 &&
    d.series[0].labels[0].value === "eu" &&
    d.series[0].points.length === 1 &&
    d.series[0].points[0].value === 30000000 &&
    d.series[0].points[0].timestamp === "1610000010000" &&
    d.series[1].points[0].timestamp === "1610000020000"'
ask SelectMergeProfile "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
check "SelectMergeProfile: samples beside the amount" js '
    d.sampleType.length === 2 && d.sample.length === 4 &&
    d.sample[0].value.join() === "1,10000000" &&
    d.stringTable[d.sampleType[0].type] === "samples" &&
    d.stringTable[d.sampleType[1].unit] === "nanoseconds"'
left="{\"start\":1610000000000,\"end\":1610000010000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
right="{\"start\":1610000010000,\"end\":1610000020000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
ask Diff "{\"left\":$left,\"right\":$right}"
check "Diff" js 'd.flamegraph.leftTicks === "30000000" &&
    d.flamegraph.rightTicks === "120000000" &&
    d.flamegraph.levels[0].values.join() === "0,30000000,0,0,120000000,0,0"'
# ---- restrictions: kept to, or refused by name ----
all="$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\""
site()
{
	printf '"stackTraceSelector":{"callSite":['
	printf '{"name":"%s"}' "$1"
	shift
	[ $# = 0 ] || printf ',{"name":"%s"}' "$@"
	printf ']}'
}
# refused STATUS FIELD: in Connect's form, with the field's name
refused()
{
	status "$1" && js "/^$2: /.test(d.message) &&
	    d.code === '$([ "$1" = 501 ] && echo unimplemented ||
	    echo invalid_argument)'"
}
ask SelectMergeStacktraces "{$all,$(site a b)}"
check "stack_trace_selector: the stacks that begin so" js '
    d.flamegraph.total === "50000000" && d.flamegraph.maxSelf ===
    "50000000" && d.flamegraph.names.join() === "total,a,b" &&
    d.flamegraph.levels.map(l => l.values.join()).join(" ") ===
    "0,50000000,0,0 0,50000000,0,1 0,50000000,50000000,2"'
ask SelectMergeStacktraces "{$all,$(site a)}"
check "one frame: all below it" js 'd.flamegraph.total === "150000000"'
ask SelectMergeStacktraces "{$all,$(site b)}"
check "a site is at the root: none begin with b" js '
    !("total" in d.flamegraph) && d.flamegraph.levels.length === 1'
ask SelectMergeStacktraces "{$all,$(site a b c)}"
check "a site that is longer than each stack: none" js '
    !("total" in d.flamegraph)'
ask SelectMergeProfile "{$all,$(site a c)}"
check "SelectMergeProfile: the same" js 'd.sample.length === 2 &&
    d.sample.reduce((s, x) => s + Number(x.value.at(-1)), 0) === 1e8'
ask SelectMergeProfile "{$all}"
check "SelectMergeProfile: labels of stacks" js '
    d.sample.map(s => Number(s.value.at(-1)) / 1e7 + " " +
    (s.label || []).map(l => d.stringTable[l.key] + "=" +
    d.stringTable[l.str]).sort().join()).sort().join(" ") ===
    "1 otel.scope.name=x,region=eu 2 otel.scope.name=x,region=eu " +
    "4 region=us 8 region=us"'
ask SelectMergeProfile "{$all,\"maxNodes\":3}"
check "SelectMergeProfile: max_nodes" js 'd.sample.length === 2 &&
    d.stringTable.includes("other") && !d.stringTable.includes("b") &&
    d.sample.reduce((s, x) => s + Number(x.value.at(-1)), 0) === 150000000'
ask SelectMergeProfile "{$all,\"maxNodes\":2}"
check "what is cut is other" js 'd.sample.length === 1 &&
    d.sample[0].value.at(-1) === "150000000" &&
    d.stringTable.includes("other") && !d.stringTable.includes("c")'
ask Diff "{\"left\":{$all,$(site a b)},\"right\":{$all}}"
check "Diff: each side has its own" js 'd.flamegraph.leftTicks ===
    "50000000" && d.flamegraph.rightTicks === "150000000"'
for f in '"PROFILE_FORMAT_PPROF"' 4; do
	ask SelectMergeStacktraces "{$all,\"format\":$f}"
	check "format $f" js '!("flamegraph" in d) &&
	    d.pprof.profile.sample.length === 4 && d.pprof.profile.sample
	    .reduce((s, x) => s + Number(x.value.at(-1)), 0) === 15e7'
done
ask SelectMergeStacktraces "{$all,\"format\":\"PROFILE_FORMAT_FLAMEGRAPH\"}"
check "format FLAMEGRAPH" js 'd.flamegraph.total === "150000000"'
for f in '"PROFILE_FORMAT_TREE"' '"PROFILE_FORMAT_DOT"' 2 3; do
	ask SelectMergeStacktraces "{$all,\"format\":$f}"
	check "format $f is refused" refused 501 format
done
for f in '"PROFILE_FORMAT_X"' 9 '""'; do
	ask SelectMergeStacktraces "{$all,\"format\":$f}"
	check "format $f is none" refused 400 format
done
ask Diff "{\"left\":{$all,\"format\":4},\"right\":{$all}}"
check "Diff has one format" refused 501 format
ask SelectMergeStacktraces "{$all,\"spanSelector\":[\"9a517183f26a089d\"]}"
check "span_selector is refused" refused 501 span_selector
ask SelectMergeStacktraces "{$all,\"traceIdSelector\":[\"a\"]}"
check "trace_id_selector is refused" refused 501 trace_id_selector
ask SelectMergeStacktraces "{$all,\"profileIdSelector\":[\"a\"]}"
check "profile_id_selector is refused" refused 501 profile_id_selector
ask SelectMergeProfile "{$all,\"profile_id_selector\":[\"a\"]}"
check "of SelectMergeProfile, too" refused 501 profile_id_selector
ask SelectMergeProfile "{$all,\"stackTraceSelector\":{\"goPgo\":{}}}"
check "go_pgo is refused" refused 501 stack_trace_selector
ask SelectSeries "{$all,$(site a)}"
check "SelectSeries: stack_trace_selector is refused" \
    refused 501 stack_trace_selector
ask SelectSeries "{$all,\"step\":20,\"groupBy\":[\"region\"],\"limit\":1}"
check "SelectSeries: limit is the largest, not the first" js '
    d.series.length === 1 && d.series[0].labels[0].value === "us" &&
    d.series[0].points[0].value === 120000000'
ask SelectSeries "{$all,\"step\":20,\"aggregation\":\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\"}"
check "an enum by name" js 'd.series[0].points[0].value === 75000000'
ask SelectSeries "{$all,\"step\":20,\"aggregation\":1}"
check "and by number" js 'd.series[0].points[0].value === 75000000'
ask SelectSeries "{$all,\"step\":20,\"aggregation\":\"AVERAGE\"}"
check "a name that is none" refused 400 aggregation
ask Series "{$span,\"matchers\":[\"{__profile_type__=~\\\"wall.*\\\"}\"]}"
check "a type by another operator than = is refused" refused 400 query
ask Series "{$span,\"matchers\":[\"{__profile_type__=\\\"wall\\\"}\"]}"
check "a type that is no id is refused" refused 400 profile_typeID

# ---- units, in Pyroscope's words ----
put "$T/two" "/ingest?name=app.inuse_objects&from=1610000000&until=1610000010"
put "$T/two" "/ingest?name=app.goroutines&from=1610000000&until=1610000010"
put "$T/two" "/ingest?name=app&units=lock_nanoseconds&from=1610000000&until=1610000010"
put "$T/two" "/ingest?name=app&units=lock_samples&from=1610000000&until=1610000010"
ask ProfileTypes "{$span}"
check "units of ids are nanoseconds, count and bytes" js '
    ["memory:inuse_objects:count:space:bytes",
    "goroutine:goroutine:count:goroutine:count",
    "lock_duration:lock_duration:nanoseconds:lock_duration:nanoseconds",
    "lock_count:lock_count:count:lock_count:count"].every(id =>
    d.profileTypes.some(t => t.ID === id)) && d.profileTypes.every(t =>
    ["nanoseconds", "count", "bytes"].includes(t.sampleUnit))'

# ---- what is no question ----
for step in 0 -1 '"NaN"' '"Infinity"'; do
	ask SelectSeries "{$all,\"step\":$step}"
	check "SelectSeries: step $step" refused 400 step
done
back='"start":"1610000020000","end":"1610000000000"'
for m in ProfileTypes LabelNames LabelValues Series SelectSeries \
    SelectMergeStacktraces SelectMergeProfile; do
	ask $m "{$back,\"name\":\"region\",\"step\":10,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
	check "$m: a range that ends before it begins" refused 400 end
done
for u in bytes milliseconds; do
	wrong="$span,\"profileTypeID\":\"process_cpu:cpu:$u:cpu:$u\",\"labelSelector\":\"{}\",\"step\":10"
	for m in SelectSeries SelectMergeStacktraces SelectMergeProfile; do
		ask $m "{$wrong}"
		check "$m: cpu is not in $u" refused 400 profile_typeID
	done
	get GET "/pyroscope/render?from=1610000000&until=1610000020&query=$(enc "process_cpu:cpu:$u:cpu:$u{}")"
	check "render: cpu is not in $u" status 400
done
# the seconds of a client that counts in them are no nanoseconds
printf 'a;b 7\n' >"$T/seven"
put "$T/seven" "/ingest?name=ms.seconds&from=1610000000&until=1610000010"
check "seconds are taken as nanoseconds" js 'd.types[0].unit ===
    "nanoseconds" && d.types[0].accepted === 7e9'

ask Nothing "{}"
check "an unknown method: 501" status 501
check "says so" js 'd.code === "unimplemented"'
ask SelectSeries "{$span,\"profileTypeID\":\"nonsense\"}"
check "a bad type: invalid_argument" js 'd.code === "invalid_argument"'
ask SelectSeries "{$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{a=b}\"}"
check "a bad selector: 400" status 400
ask ProfileTypes ""
check "an empty body is an empty message" status 200

command -v protoc >/dev/null || {
	echo "skip - protobuf: protoc is not installed"
	exit $bad
}
proto ProfileTypes "start: 1610000000000 end: 1610000020000"
check "protobuf: ProfileTypes" grep -q "ID: \"$id\"" "$T/body"
proto SelectMergeStacktraces "start: 1610000000000 end: 1610000020000
    profile_typeID: \"$id\" label_selector: \"{region=\\\"eu\\\"}\""
check "protobuf: SelectMergeStacktraces" grep -q "total: 30000000" "$T/body"
proto SelectSeries "start: 1610000000000 end: 1610000020000
    profile_typeID: \"$id\" step: 20"
proto SelectMergeStacktraces "start: 1610000000000 end: 1610000020000
    profile_typeID: \"$id\" format: PROFILE_FORMAT_PPROF
    stack_trace_selector: { call_site: { name: \"a\" } }"
check "protobuf: format PPROF" grep -q "value: 80000000" "$T/body"
proto SelectSeries "start: 1610000000000 end: 1610000020000
    profile_typeID: \"$id\" step: 20"
check "protobuf: SelectSeries" grep -q "value: 150000000" "$T/body"

# ---- two units, ranges turned round, more than 63 bits hold ----
printf 'a;b 5\n' >"$T/held"
put "$T/held" "/ingest?name=sizes.inuse_space&from=1610000000&until=1610000010&format=folded"
space=memory:inuse_space:bytes:space:bytes
held="{\"start\":1610000000000,\"end\":1610000010000,\"profileTypeID\":\"$space\",\"labelSelector\":\"{}\"}"
ask Diff "{\"left\":$left,\"right\":$held}"
check "Diff of two units: refused" refused 400 right
turned="{\"start\":1610000020000,\"end\":1610000010000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
ask Diff "{\"left\":$left,\"right\":$turned}"
check "Diff of a range that is turned round: refused" refused 400 end
printf 'a 900000000000000000\n' >"$T/large" # times 10 ms each
put "$T/large" "/ingest?name=large.cpu&from=1620000000&until=1620000010&format=folded"
large="\"start\":1620000000000,\"end\":1620000010000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\""
ask SelectMergeStacktraces "{$large}"
check "more than 2^63: refused, not cut" js '/2\^63/.test(d.message)'
ask SelectMergeProfile "{$large}"
check "nor in a pprof" js '/2\^63/.test(d.message)'
get GET "/api/v1/flamegraph.pprof?query=cpu&from=1620000000&until=1620000010"
check "nor in ours" status 413
get GET "/api/v1/flamegraph.json?query=cpu&from=1620000000&until=1620000010"
check "the amount itself is exact" grep -q '"numTicks":9000000000000000000000000,' "$T/body"
exit $bad
