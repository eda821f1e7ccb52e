#!/bin/bash
# What lies in damaged files alone is partial, not unknown; Connect has strict
# like every other route.
. tests/api/lib
END=1700000640
fill
for file in "$T"/store/span-* "$T"/store/late-* "$T"/store/summary-* \
    "$T"/store/journal-*; do
	test -f "$file" && : >"$file"
done
ALL="from=$((END - 7200))&until=$END"
Q=$(enc 'cpu{service="kv"}')
FQ=$(enc 'kv.cpu')
run_worker
while read -r route params; do
	get GET "$route?$params"
	check "$route is partial where all is damaged" eval 'status 200 &&
	    header "MemLens-Partial: "'
	get GET "$route?$params&strict=1"
	check "$route fails when it must be whole" eval 'status 503 &&
	    js "d.field === \"strict\""'
done <<END
/api/v1/flamegraph.json query=$Q&$ALL
/api/v1/flamegraph.svg query=$Q&$ALL
/api/v1/flamegraph.html query=$Q&$ALL
/api/v1/flamegraph.folded query=$Q&$ALL
/api/v1/flamegraph.speedscope.json query=$Q&$ALL
/api/v1/flamegraph.pprof query=$Q&$ALL
/api/v1/table.csv query=$Q&$ALL
/api/v1/table.json query=$Q&$ALL
/api/v1/sandwich.json query=$Q&$ALL&function=read
/api/v1/diff.json query=$Q&$ALL&from-b=$((END - 60))&until-b=$END
/render query=$FQ&$ALL
/api/v1/services $ALL
END
get GET "/api/v1/flamegraph.json?query=$Q&$ALL"
check "its state says so" js 'd.memlens.state === "partial"'

connect()
{
	printf '%s' "{$2\"start\":\"$((END - 7200))000\",
	    \"end\":\"${END}000\"}" >"$T/ask"
	BODY=$T/ask get POST "/querier.v1.QuerierService/$1" \
	    CONTENT_LENGTH="$(stat -c %s "$T/ask")" \
	    CONTENT_TYPE=application/json
}
cpu='"profileTypeID":"process_cpu:cpu:nanoseconds:cpu:nanoseconds",'
which='"labelSelector":"{service_name=\"kv\"}",'
while read -r asked members; do
	connect "$asked" "$members"
	check "$asked says that it is partial" eval 'status 200 &&
	    header "MemLens-Partial: "'
	connect "$asked?strict=1" "$members"
	check "$asked fails when it must be whole" eval 'status 503 &&
	    js "d.code === \"unavailable\" && /partial/.test(d.message)"'
done <<END
ProfileTypes
LabelNames
LabelValues "name":"service_name",
SelectMergeStacktraces $cpu$which
SelectMergeProfile $cpu$which
SelectSeries $cpu$which"step":15,
END
exit $bad
