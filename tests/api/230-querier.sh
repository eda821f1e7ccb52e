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
check "SelectMergeProfile" js 'd.sampleType.length === 1 &&
    d.sample.length === 2 && d.sample[0].value[0] === "50000000" &&
    d.stringTable.includes("nanoseconds")'
left="{\"start\":1610000000000,\"end\":1610000010000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
right="{\"start\":1610000010000,\"end\":1610000020000,\"profileTypeID\":\"$id\",\"labelSelector\":\"{}\"}"
ask Diff "{\"left\":$left,\"right\":$right}"
check "Diff" js 'd.flamegraph.leftTicks === "30000000" &&
    d.flamegraph.rightTicks === "120000000" &&
    d.flamegraph.levels[0].values.join() === "0,30000000,0,0,120000000,0,0"'
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
check "protobuf: SelectSeries" grep -q "value: 150000000" "$T/body"
exit $bad
