#!/bin/bash
# A push of Pyroscope's agent for Java as it is: a recording and its labels in
# a form, packed each.  What is in it: tests/replay/045-jfr.sh.
. tests/api/lib
. tests/api/stack
start_stack
at="from=1700000000&until=1700000010"
range='from=1700000000&until=1700000010'
data=tests/data/jfr

part()
{
	printf -- '--XX\r\nContent-Disposition: form-data; name="%s"; %s\r\n' \
	    "$1" "filename=\"$1\""
	printf 'Content-Type: application/octet-stream\r\n\r\n'
	cat
	printf '\r\n'
}
{
	part jfr <$data/agent.jfr.gz
	gzip -nc $data/agent.labels | part labels
	printf -- '--XX--\r\n'
} >"$T/form"
push()
{
	put "$T/$1" "/ingest?$at&units=samples&aggregationType=sum&$2" \
	    CONTENT_TYPE="multipart/form-data; boundary=XX"
}
total()
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&$range"
	js "d.memlens.total === $2"
}
sum()
{
	awk -F '\t' -v type="$1" '$1 == type { n += $3 } END { print n }' \
	    $data/agent.folded
}

push form "name=shop.itimer%7Bzone%3Da%7D&spyName=javaspy&sampleRate=50&format=jfr"
check "the form is taken" js 'd.service === "shop" && d.format === "jfr"'
cpu=$(($(sum cpu) * 20000000))
check "each sample, of the rate that is said" total 'cpu{service="shop"}' $cpu
for type in alloc_in_new_tlab_objects alloc_in_new_tlab_bytes mutex_count; do
	check "each of $type" total "$type{zone=\"a\"}" "$(sum $type)"
done
get GET "/api/v1/flamegraph.json?query=$(enc 'mutex_duration')&$range"
check "the time at mutexes, to a thousandth" js \
    "Math.abs(d.memlens.total / $(sum mutex_duration) - 1) < 1e-3"
for region in eu us; do
	get GET "/api/v1/flamegraph.json?query=$(enc "cpu{region=\"$region\"}")&$range"
	check "labels of the events' contexts: $region" js \
	    "d.memlens.total > 0 && d.memlens.total < $cpu"
done
get GET /api/v1/types
check "types have Pyroscope's ids" js '[
    "memory:alloc_in_new_tlab_bytes:bytes:space:bytes",
    "mutex:delay:nanoseconds:contentions:count"].every((id) =>
    d.types.some((t) => t.present && t.pyroscope === id))'

zcat $data/agent.jfr.gz >"$T/raw"
put "$T/raw" "/ingest?$at&name=raw&format=jfr"
check "a recording alone" js 'd.types.some((t) => t.name === "cpu" &&
    t.period === 10000000)'
put $data/agent.jfr.gz "/ingest?$at&name=guessed"
check "packed, and nothing said" js 'd.format === "jfr"'
head -c 5000 "$T/raw" >"$T/cut"
put "$T/cut" "/ingest?$at&name=cut&format=jfr"
check "cut: 422" status 422
check "with the byte" js '/^jfr: byte 8:/.test(d.detail)'
part labels <$data/agent.labels >"$T/none"
printf -- '--XX--\r\n' >>"$T/none"
push none "name=none&format=jfr"
check "a form without a recording: 400" status 400
