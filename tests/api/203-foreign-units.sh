#!/bin/bash
# Nothing that one client pushes takes another's answers away: units of time
# are one, what else is counted under the name of a type has its own name, and
# units of text are honoured or refused.
. tests/api/lib
. tests/api/stack
start_stack
node tests/api/requests.mjs "$T" || exit 1
at="from=1700000000&until=1700000010"
range='from=1700000000&until=1700000010'

total()
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&$range"
	js "d.memlens.total === $2 && d.memlens.unit === '${3-nanoseconds}'"
}
push()
{
	put "$T/$1" "/ingest?$at&$2"
}

push a.folded "name=app.cpu"
check "before: 50 ms of cpu" total cpu 50e6
push cycles.bin "name=other"
check "cycles are another type" js 'd.types[0].name === "cpu_cycles"'
push a.folded "name=other.cpu&aggregationType=average"
check "an average is another type" js 'd.types[0].name === "cpu_average"'
"$B/memlens" import --service other --type cpu --from 1700000000 \
    --until 1700000010 "$T/a.folded" "$T/memlensd.sock" 2>"$T/said"
check "import: samples of cpu are of 100 Hz" total 'cpu{service="other"}' 50e6
for page in flamegraph.json table.json diff.json flamegraph.svg \
    flamegraph.folded flamegraph.pprof; do
	get GET "/api/v1/$page?query=cpu&$range"
	check "after: $page of the whole host" status 200
done
check "after: cpu of both" total cpu 100e6
check "cycles by their name" total cpu_cycles 70 cycles
check "the mean by its name" total cpu_average 50e6
n=0
for u in usec:7e3 msec:7e6 min:420e9 h:25200e9 days:604800e9; do
	push ${u%:*}.bin "name=time$n"
	check "${u%:*} is nanoseconds" total "cpu{service=\"time$n\"}" "${u#*:}"
	n=$((n + 1))
done

# ---- Connect's ids reach both ----
ask()
{
	printf '%s' "$2" >"$T/ask"
	put "$T/ask" "/querier.v1.QuerierService/$1" \
	    CONTENT_TYPE=application/json
}
span='"start":1700000000000,"end":1700000010000'
ask ProfileTypes "{$span}"
check "both ids are listed" js '["nanoseconds", "cycles"].every(u =>
    d.profileTypes.some(t => t.ID === `process_cpu:cpu:${u}:cpu:${u}`))'
for u in nanoseconds:50000000 cycles:70; do
	svc=app
	[ "${u%:*}" = nanoseconds ] || svc=other
	id="process_cpu:cpu:${u%:*}:cpu:${u%:*}"
	what="$span,\"profileTypeID\":\"$id\",\"labelSelector\":\"{service_name=\\\"$svc\\\"}\""
	ask SelectMergeStacktraces "{$what}"
	check "SelectMergeStacktraces: ${u%:*}" js \
	    "+d.flamegraph.total === ${u#*:}"
	ask SelectSeries "{$what,\"step\":10}"
	check "SelectSeries: ${u%:*}" js \
	    "d.series[0].points[0].value === ${u#*:}"
done

# ---- a type that nobody knows, in two units ----
push own-bytes.bin "name=a"
push own-count.bin "name=b"
get GET "/api/v1/flamegraph.json?query=own&$range"
check "two units are not added, and it is said how to ask" js \
    'd.field === "query" && /__unit__/.test(d.detail)'
check "one of them" total 'own{__unit__="bytes"}' 70 bytes
check "the other" total 'own{__unit__="count"}' 7 count
for u in bytes:70 count:7; do
	ask SelectMergeStacktraces "{$span,\"profileTypeID\":\"own:own:${u%:*}:own:${u%:*}\",\"labelSelector\":\"{}\"}"
	check "an id tells ${u%:*}" js "+d.flamegraph.total === ${u#*:}"
done

get GET /api/v1/types
check "types: strangers' own, in each unit" js '["bytes", "count"].every((u) =>
    d.types.some((t) => t.name === "own" && t.unit === u && t.present &&
    t.pyroscope === `own:own:${u}:own:${u}` && t.source === "pushed"))'
check "types: what has another unit has its id" js 'd.types.some((t) =>
    t.name === "cpu_cycles" && t.unit === "cycles" && !t.time &&
    t.pyroscope === "process_cpu:cpu:cycles:cpu:cycles")'

# ---- units of text ----
printf 'm;a 12\n' >"$T/twelve"
n=0
for u in inuse_space:KiB:12288 alloc_space:megabytes:12582912 \
    block_duration:ms:12e6 cpu:milliseconds:12e6 cpu:nanoseconds:12 \
    cpu:samples:120e6; do
	IFS=: read -r type unit amount <<<"$u"
	push twelve "name=text$n.$type&units=$unit"
	check "$type in $unit" js \
	    "d.types[0].name === '$type' && d.types[0].accepted *
	    d.types[0].period === $amount"
	n=$((n + 1))
done
push twelve "name=text&units=KiB"
check "KiB alone are memory in use" js 'd.types[0].accepted === 12288 &&
    d.types[0].name === "inuse_space"'
push twelve "name=text&units=lock_nanoseconds"
check "an agent's own unit tells a type, and is not said again" js \
    'd.types[0].name === "lock_duration" &&
    d.types[0].unit === "nanoseconds"'
push twelve "name=text.cpu&units=KiB"
check "cpu in KiB: 400" status 400
check "by its field" js 'd.field === "units"'
push twelve "name=text&units=nonsense"
check "units that tell no type: 400" js 'd.field === "units"'
"$B/memlens" import --service imp --type inuse_space --unit KiB \
    --from 1700000000 --until 1700000010 "$T/twelve" "$T/memlensd.sock" \
    2>"$T/said"
check "import has the same rule" total 'inuse_space{service="imp"}' 12288 bytes
"$B/memlens" import --service imp --type cpu --unit KiB "$T/twelve" \
    "$T/memlensd.sock" 2>"$T/said"
check "and refuses the same" grep -q 'cpu is counted in nanoseconds' "$T/said"

# ---- what a selector cannot name ----
printf 'kv 1/1 [000] 1.0: 10 cpu-clock: \n\t1 f (/a)\n\n' >"$T/perf"
push perf "name=perf&format=perf_script"
check "cpu-clock is cpu_clock" total cpu_clock 10
exit $bad
