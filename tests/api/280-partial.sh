#!/bin/sh
# Damage is said by every format of every route, or refused with strict=1;
# what is whole says nothing.
. tests/api/lib
export ASAN_OPTIONS=detect_leaks=0 # a handle of Berkeley DB that met damage
END=1700000640
fill
# The file in the middle, while nobody reads: pages of its blocks.
file=$(ls "$T"/store/span-* | sed -n 2p)
set -- $(sed -n "s/^span .* \(${file##*/}\)$/&/p" "$T/store/manifest")
from=$(($3 * 10)) until=$((($3 + $4) * 10))
ALL="from=$((END - 7200))&until=$END"
HURT="from=$from&until=$until"
WHOLE="from=$((until))&until=$END"
Q=$(enc 'cpu{service="kv"}')
run_worker
get GET "/api/v1/flamegraph.json?query=$Q&$ALL"
check "a whole answer is data, and lacks nothing" js \
    'd.memlens.state === "data" && d.memlens.partial.length === 0'
total=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1]))
    .memlens.total' "$T/body")
check "it has no such header" eval '! header MemLens-Partial'
kill $worker
wait $worker 2>/dev/null
size=$(wc -c <"$file")
dd if=/dev/urandom of="$file" bs=4096 seek=2 count=$((size / 4096 - 3)) \
    conv=notrunc 2>/dev/null
run_worker

get GET "/api/v1/flamegraph.json?query=$Q&$ALL"
check "a flame graph of damaged files is partial" js 'd.memlens.state ===
    "partial" && d.memlens.partial.length === 1'
check "it says which slots, and why" js "d.memlens.partial[0].from === $from &&
    d.memlens.partial[0].until === $until &&
    /^span-.* is damaged\$/.test(d.memlens.partial[0].why)"
check "it is less" js "d.memlens.total < $total"
check "its header says the same" header \
    "MemLens-Partial: $from-$until span-.* is damaged\$"
check "it is not kept" eval '! header ETag && header "Cache-Control: no-store"'

get GET "/api/v1/flamegraph.json?query=$Q&$WHOLE"
check "beside the damage all is whole" js 'd.memlens.state === "data" &&
    d.memlens.partial.length === 0'
check "and kept" header ETag
get GET "/api/v1/flamegraph.json?query=$Q&$WHOLE&strict=1"
check "strict asks no more of what is whole" status 200
get GET "/api/v1/flamegraph.json?query=$Q&$HURT"
check "nothing left is partial, not no data" js 'd.memlens.state ===
    "partial" && d.memlens.slots === 0'

# route and parameters, one a line
M=$(enc 'test_gauge_bytes')
L=$(enc 'test_latency_seconds')
FQ=$(enc 'kv.cpu')
PQ=$(enc '{service="kv"}')
while read -r route params; do
	get GET "$route?$params"
	check "$route says that it is partial" eval 'status 200 &&
	    header "MemLens-Partial: $from-"'
	get GET "$route?$params&strict=1"
	check "$route fails when it must be whole" eval 'status 503 &&
	    js "d.field === \"strict\" && /is damaged/.test(d.detail)"'
done <<END
/api/v1/flamegraph.svg query=$Q&$ALL
/api/v1/flamegraph.html query=$Q&$ALL
/api/v1/flamegraph.folded query=$Q&$ALL
/api/v1/flamegraph.speedscope.json query=$Q&$ALL
/api/v1/flamegraph.pprof query=$Q&$ALL
/api/v1/table.csv query=$Q&$ALL
/api/v1/table.json query=$Q&$ALL
/api/v1/sandwich.json query=$Q&$ALL&function=read
/api/v1/diff.json query=$Q&$ALL&from-b=$((END - 60))&until-b=$END
/api/v1/diff.svg query=$Q&$ALL&from-b=$((END - 60))&until-b=$END
/api/v1/diff.html query=$Q&$ALL&from-b=$((END - 60))&until-b=$END
/api/v1/compare.json $ALL&from-b=$((END - 60))&until-b=$END
/api/v1/series query=$M&$ALL&step=60
/api/v1/percentiles query=$L&$ALL&step=60
/api/v1/services $ALL
/api/v1/runs x=
/render query=$FQ&$ALL
/render query=$FQ&$ALL&format=pprof
/render query=$FQ&$ALL&format=collapsed
/render query=$FQ&$ALL&format=html
/render-diff leftQuery=$FQ&leftFrom=$((END - 7200))&leftUntil=$END&rightQuery=$FQ&rightFrom=$((END - 60))&rightUntil=$END
/labels query=$FQ
/label-values label=service
END
for route in "table.json?query=$Q&$ALL" "series?query=$M&$ALL&step=60" \
    "percentiles?query=$L&$ALL&step=60" "services?$ALL" "runs" \
    "diff.json?query=$Q&$ALL&from-b=$((END - 60))&until-b=$END" \
    "compare.json?$ALL&from-b=$((END - 60))&until-b=$END"; do
	get GET "/api/v1/$route"
	check "${route%%\?*} has the list" js "d.state === 'partial' &&
	    d.partial.length === 1 && d.partial[0].from === $from &&
	    d.partial[0].until === $until"
done
get GET "/api/v1/flamegraph.svg?query=$Q&$ALL"
check "a picture says it in words" grep -q "PARTIAL: lacks .* UTC: span-" \
    "$T/body"
get GET "/api/v1/flamegraph.speedscope.json?query=$Q&$ALL"
check "speedscope has it in its name" grep -q "PARTIAL: lacks .* UTC: span-" \
    "$T/body"
get GET "/api/v1/series?query=$M&$WHOLE&step=60"
check "a whole series lacks nothing" js 'd.state === undefined &&
    d.partial.length === 0'
get GET /api/v1/health
check "health says that there is damage" js 'd.store.damaged === 1'

# Merging sets the file aside: what it had is lacking all the same.
kill $worker
wait $worker 2>/dev/null
"$B/api/fill_store" "$T/store" $((END + 11000)) 1100 2>"$T/fill.log"
check "merging sets the file aside" test -e "$file.bad"
run_worker
for route in "flamegraph.json?query=$Q&$ALL" "flamegraph.folded?query=$Q&$HURT" \
    "series?query=$M&$ALL&step=60"; do
	get GET "/api/v1/$route"
	check "${route%%\?*} says it still" header \
	    "MemLens-Partial: $from-$until ${file##*/} was damaged\$"
	get GET "/api/v1/$route&strict=1"
	check "${route%%\?*} fails still when it must be whole" status 503
done
get GET "/api/v1/flamegraph.json?query=$Q&$ALL"
check "the list has it, too" js "d.memlens.state === 'partial' &&
    d.memlens.partial.length === 1 && d.memlens.partial[0].from === $from &&
    d.memlens.partial[0].until === $until"
get GET "/api/v1/flamegraph.json?query=$Q&$WHOLE"
check "beside it all is whole still" js 'd.memlens.state === "data"'
get GET /api/v1/health
check "health counts it still" js 'd.store.damaged === 1'
"$B/memlens" verify "$T/store" >"$T/verify" 2>&1
check "verify fails" test $? -ne 0
check "and says what is lacking" grep -q \
    "lacking from $from to $until s: ${file##*/} was damaged" "$T/verify"

# Without the list of files nobody knows which of them hold what.
kill $worker
wait $worker 2>/dev/null
sed 's/^slot_ns 1/slot_ns 2/' "$T/store/manifest" >"$T/manifest"
cp "$T/manifest" "$T/store/manifest"
run_worker
get GET "/api/v1/flamegraph.json?query=$Q&$WHOLE"
check "a damaged manifest is no answer" status 503
check "and says so" js '/manifest: checksum is wrong/.test(d.detail)'
exit $bad
