#!/bin/bash
# POST /ingest: every format, every quirk of names and times, every status.
. tests/api/lib
. tests/api/stack
start_stack
node tests/api/requests.mjs "$T" || exit 1
at="from=1700000000&until=1700000010"

ingest()
{
	file=$1 query=$2
	shift 2
	put "$T/$file" "/ingest?$query" "$@"
}
# samples in the slots of one test's own service
has()
{
	got=$(counted "$1" 1699990000 1700100000)
	[ "$got" = "$2" ] || { echo "# $1: $got, not $2"; return 1; }
}

ingest a.folded "name=fold.cpu%7Bregion%3Deu%7D&$at&sampleRate=100"
check "folded: 200 and what was taken" js \
    'd.types[0].name === "cpu" && d.types[0].accepted === 5 &&
    d.types[0].period === 10000000 && d.dropped === 0 &&
    d.service === "fold"'
check "folded: it is there" has 'cpu{service="fold"}' 5
check "folded: with its label" has 'cpu{service="fold",region="eu"}' 5
check "folded: and no other" has 'cpu{service="fold",region="us"}' 0
ingest a.folded "name=form.cpu&$at" \
    CONTENT_TYPE=application/x-www-form-urlencoded
check "curl's default type is no form" has 'cpu{service="form"}' 5
ingest a.lines "name=lines&$at&format=lines"
check "lines" has 'cpu{service="lines"}' 3
ingest trie.bin "name=trie&$at&format=trie"
check "trie" has 'cpu{service="trie"}' 3
ingest trie.bin "name=trie2&$at" CONTENT_TYPE=binary/octet-stream+trie
check "trie by its type" has 'cpu{service="trie2"}' 3
ingest tree.bin "name=tree&$at" CONTENT_TYPE=binary/octet-stream+tree
check "tree by its type" has 'cpu{service="tree"}' 3
ingest pprof.bin "name=raw&$at&format=pprof"
check "pprof: both types" js 'd.types.map(t => t.name).join() ===
    "samples,cpu" && d.types[1].accepted === 5'
check "pprof: cpu in periods" has 'cpu{service="raw"}' 5
check "pprof: labels of samples" has 'cpu{service="raw",region="eu"}' 3
ingest pprof.gz "name=gz&$at&format=pprof"
check "pprof in gzip" has 'cpu{service="gz"}' 5
ingest pprof.gz "name=guess&$at"
check "pprof without a format" has 'cpu{service="guess"}' 5
ingest form.bin "name=mp&$at" CONTENT_TYPE="multipart/form-data; boundary=XX"
check "a form" has 'cpu{service="mp"}' 5
ingest form.bin "name=mp2&$at&format=pprof" \
    CONTENT_TYPE="multipart/form-data; boundary=XX"
check "a form that says pprof" has 'cpu{service="mp2"}' 5
ingest form.bin "name=mp3&$at&format=lines" \
    CONTENT_TYPE="multipart/form-data; boundary=XX"
check "a form is no text, whatever it says" has 'cpu{service="mp3"}' 5
ingest a.folded "name=alias&$at&format=jemalloc"
check "an agent's word for a format" js 'd.field !== "format" &&
    /heap/.test(d.detail)'
ingest delta.bin "name=delta&$at" \
    CONTENT_TYPE="multipart/form-data; boundary=XX"
check "cumulative values less those before" has 'alloc_space{service="delta"}' \
    200
check "the others as they are" has 'inuse_space{service="delta"}' 7
ingest first.bin "name=first&$at" \
    CONTENT_TYPE="multipart/form-data; boundary=XX"
check "cumulative values without: said" js 'd.skipped.some(s =>
    /cumulative/.test(s.reason)) && d.types.length === 1'
ingest odd.bin "name=odd&$at&format=pprof"
check "unknown types are stored" has 'lock_wait{service="odd"}' 5
ingest a.gz "name=ce&$at" HTTP_CONTENT_ENCODING=gzip
check "Content-Encoding: gzip" has 'cpu{service="ce"}' 5
ingest a.gz "name=sniff&$at"
check "gzip without a word" has 'cpu{service="sniff"}' 5
printf 'a\001b;\377c 5\n' >"$T/odd.folded"
for f in folded collapsed groups; do
	ingest odd.folded "name=odd$f&$at&format=$f"
	check "$f is folded, whatever bytes are in it" has \
	    "cpu{service=\"odd$f\"}" 5
done
printf 'heap_v2/524288\n  t*: 1: 524288 [0: 0]\n@ 0x10 0x20\n  t*: 1: 524288 [0: 0]\n' >"$T/a.heap"
printf 'node 7/8 [000] 1.0: 250000 cpu-clock:u: \n\t 7f00 f+0x1 (/bin/x)\n\n' >"$T/a.perf"
printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"x","unit":"bytes","startValue":0,"endValue":3,"samples":[[0]],"weights":[3]}]}' >"$T/a.json"
for f in heap:heap_v2 perf:perf json:speedscope; do
	ingest "a.${f%:*}" "name=guessed&$at"
	check "${f#*:} without a format" js "d.format === '${f#*:}' &&
	    d.types[0].accepted > 0"
done
printf 'FLR\000\000\002' >"$T/a.jfr"
ingest a.jfr "name=guessed&$at"
check "a damaged jfr without a format" js '/^jfr: byte 0/.test(d.detail)'
printf 'a;b 5\na;c 99999999999999999999\n' >"$T/count"
ingest count "name=count&$at"
check "a count beyond all bounds: 422, nothing is left out" status 422
check "and it says which" js '/line 2: a count/.test(d.detail)'

# ---- units: one of each, whoever sends it ----
ingest ns.bin "name=units1&$at"
ingest ms.bin "name=units2&$at"
check "pprof in milliseconds: nanoseconds, in periods" js '
    d.types[0].unit === "nanoseconds" && d.types[0].period === 1e7 &&
    d.types[0].accepted === 7'
check "both in one answer" test \
    "$(ticks 'cpu{service=~"units.*"}' 1700000000 1700000010)" = 140000000
ingest kb.bin "name=units3&$at"
check "kilobytes are bytes" js 'd.types[0].unit === "bytes" &&
    d.types[0].accepted === 3072'
ingest goform.bin "name=go1&$at" CONTENT_TYPE="multipart/form-data; boundary=XX"
check "the form of Go's agent: units of the raw pprof" js '
    d.types.map(t => t.name + " " + t.unit).sort().join() ===
    "goroutines count,inuse_objects count,mutex_count count," +
    "mutex_duration nanoseconds"'
ingest goraw.bin "name=go1&$at"
for q in goroutines:8 inuse_objects:6 mutex_count:4 mutex_duration:2000; do
	check "form and raw pprof: one ${q%:*}" test \
	    "$(ticks "${q%:*}{service=\"go1\"}" 1700000000 1700000010)" = \
	    "${q#*:}"
done
ingest large-s.bin "name=units4&$at"
check "more nanoseconds than can be counted: 422" status 422

# ---- names ----
ingest a.folded "name=my.odd.app&$at"
check "no known suffix: all of it is the service" has \
    'cpu{service="my.odd.app"}' 5
ingest a.folded "name=mem.inuse_space&$at&units=bytes"
check "a suffix names a type" js 'd.types[0].name === "inuse_space" &&
    d.types[0].unit === "bytes"'
ingest a.folded "name=un&$at&units=goroutines&aggregationType=average"
check "units name a type" has 'goroutines{service="un"}' 5
ingest a.folded "name=$(enc ' dots { otel.scope.name = a/b , odd-one=x y } ')&$at"
check "blanks, dots, slashes and dashes" has \
    'cpu{service="dots","otel.scope.name"="a/b","odd-one"="x y"}' 5
ingest a.folded "name=$(enc 'eq{a=b=c:{d}x')&$at"
check "a value with = : {" has 'cpu{service="eq",a="b=c:{d"}' 5
ingest a.folded "name=$(enc 'sess{__session_id__=1,a=b}')&$at"
check "numbers of processes are no labels" js 'd.labels_left_out === 1'

ingest a.folded "name=twice.cpu.cpu&$at"
check "one suffix is the type, not two" js 'd.service === "twice.cpu"'

# ---- times ----
for t in 1700000000 1700000000000 1700000000000000 1700000000000000000; do
	ingest a.folded "name=t$t&from=$t&until=${t/17000000/17000000}"
	check "a time of ${#t} digits" has "cpu{service=\"t$t\"}" 5
done
ingest a.folded "name=norate&$at"
check "no word of a rate: 100" js 'd.types[0].period === 10000000'
for r in 0 -1 0.5 1.5 x 1000000001; do
	ingest a.folded "name=norate&$at&sampleRate=$r"
	check "sampleRate=$r: 400" status 400
	check "sampleRate=$r: by field" js 'd.field === "sampleRate"'
done
ingest a.folded "name=phase&from=1700000003&until=1700000063"
sum=0
for i in 0 1 2 3 4 5 6; do
	s=$((1700000000 + 10 * i))
	n=$(counted 'cpu{service="phase"}' $s $((s + 10)))
	sum=$((sum + n))
done
check "a window of any phase keeps every sample ($sum)" [ "$sum" = 5 ]
ingest a.folded "name=now"
check "without times: now" js 'd.types[0].accepted === 5'
ingest a.folded "name=idem&$at" HTTP_IDEMPOTENCY_KEY=k1
ingest a.folded "name=idem&$at" HTTP_IDEMPOTENCY_KEY=k1
check "the same key again: 200" status 200
check "and counted once" has 'cpu{service="idem"}' 5

awk 'BEGIN { for (i = 0; i < 300000; i++)
    print "main;worker_" i % 100 ";function_" i " 2" }' >"$T/large"
ingest large "name=large&$at"
check "a large profile is several batches" js 'd.batches > 1 &&
    d.types[0].accepted === 600000'
check "and all of it is there" has 'cpu{service="large"}' 600000

# ---- statuses ----
ingest a.folded "$at"
check "no name: 400" status 400
ingest a.folded "name=%7Ba%3Db%7D&$at"
check "no application: 400" status 400
ingest a.folded "name=late&from=1700000019000000000&until=1700000014000000000"
check "a late flush, until before from: taken" status 200
check "a late flush: in the slot of from" test "$(counted \
    'cpu{service="late"}' 1700000010 1700000020)" = 5
ingest a.folded "name=x&$at&format=pprof"
check "text for pprof: 422" status 422
ingest a.folded "name=x&$at&format=jfr"
check "text for jfr: 422" status 422
check "that says where" js '/^jfr: byte 0/.test(d.detail)'
ingest a.folded "name=x&$at" HTTP_CONTENT_ENCODING=br
check "another encoding: 415" status 415
get GET "/ingest?name=x"
check "GET: 405" status 405
check "with Allow" header "Allow: POST"
future=$(($(date +%s) + 100000))
ingest a.folded "name=x&from=$future&until=$future"
check "the far future: 422" status 422
ingest a.folded "name=x&from=10&until=20"
check "before what is kept: 422, not a 200 for nothing" status 422
kill $daemon
wait $daemon
ingest a.folded "name=x&$at"
check "no daemon: 503" status 503
check "and when to come again" header "Retry-After:"
start_daemon
ingest a.folded "name=later&$at"
check "the next one tells of it" status 200
check "as a counter" await 60 refused 1
printf 'main;read 5 10\nmain;write 7 0\n' >"$T/pair"
ingest pair "name=pair.cpu&from=1610000000&until=1610000010"
check "two counts a line are two profiles: 422" status 422
check "and it says what takes them" grep -q flamegraph "$T/body"
exit $bad
