#!/bin/bash
# POST /ingest of heap dumps and speedscope's files: taken, or refused with
# the place and in bounded time.
. tests/api/lib
. tests/api/stack
start_stack
at="from=1700000000&until=1700000010"
ingest()
{
	file=$1 query=$2
	put "$T/$file" "/ingest?$query"
}
has()
{
	got=$(counted "$1" 1699990000 1700100000)
	[ "$got" = "$2" ] || { echo "# $1: $got, not $2"; return 1; }
}

printf '%s\n' '--- symbol' '0x1 malloc' '0x10 read' --- '--- heap' \
	heap_v2/1 '@ 0x1 0x11' ' t*: 5: 50000 [0: 0]' >"$T/dump"
ingest dump "name=dump&$at&format=heap_v2"
check "heap_v2" js 'd.types.map(t => t.name).sort().join() ===
    "inuse_objects,inuse_space"'
check "heap_v2: objects" has 'inuse_objects{service="dump"}' 5
check "heap_v2: bytes" has 'inuse_space{service="dump"}' 50000
get GET "/api/v1/leaks?service=dump&from=1700000000&until=1700000040"
check "heap_v2: how it is sampled" js 'd.sampling === 1'
of="query=$(enc 'inuse_space{service="dump"}')&from=1700000000&until=1700000040"
get GET "/api/v1/flamegraph.svg?$of"
check "a picture says that they are an average" grep -q \
	'UTC   50,000 bytes on average</text>' "$T/body"
get GET "/api/v1/diff.svg?$of&normalise=time"
check "that of a difference, too" grep -q \
	'A: .* UTC, 50,000 bytes on average   B: .*50,000 bytes on average' "$T/body"
printf 'heap profile: 1: 2 [3: 4] @ heapprofile\n5: 9 [6: 10] @ 0x1\n' \
	>"$T/gperftools"
ingest gperftools "name=gperf&$at&format=gperftools"
check "gperftools" has 'alloc_space{service="gperf"}' 10
printf '%s' '{"shared":{"frames":[{"name":"a"}]},"profiles":[{"unit":"none",' \
	'"samples":[[0],[0]],"weights":[3,4]}]}' >"$T/scope"
ingest scope "name=scope&$at&format=speedscope"
check "speedscope" has 'samples{service="scope"}' 7
ingest scope "name=named.cpu&$at&format=speedscope&sampleRate=50"
check "speedscope: its type is that of the name" js 'd.service === "named" &&
    d.types[0].name === "cpu" && d.types[0].unit === "nanoseconds"'
check "its counts are samples" has 'cpu{service="named"}' 7
check "of the rate that is said" js 'd.memlens.period === 20000000'
sed 's/none/milliseconds/' "$T/scope" >"$T/timed"
ingest timed "name=timed.wall&$at&format=speedscope"
check "speedscope: times are times" has 'wall{service="timed"}' 7000000
sed 's/none/bytes/' "$T/scope" >"$T/space"
ingest space "name=space.cpu&$at&format=speedscope"
check "bytes are no time: the name is the service" has \
	'space{service="space.cpu"}' 7

printf 'heap_v2/1\n@ 0x1\nt*: 1: 2 [3\n' >"$T/cut"
ingest cut "name=cut&$at&format=heap_v2"
check "a dump that is cut off: 422" status 422
check "with its line" js '/line 3/.test(d.detail)'
{ echo heap_v2/1; printf '@'; yes ' 1' | head -n 200000 | tr -d '\n'
	printf '\nt*: 1: 1 [0: 0]\n'; } >"$T/deep"
ingest deep "name=deep&$at&format=heap_v2"
check "a stack of 200,000 frames: 413" status 413
head -c 1000000 /dev/zero | tr '\0' '[' >"$T/nested"
ingest nested "name=nested&$at&format=speedscope"
check "a million brackets: 422" status 422
