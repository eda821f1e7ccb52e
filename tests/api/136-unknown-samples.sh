#!/bin/bash
# One profile of an unknown period among others: what is known is counted, and
# what is not is said, by amount.
. tests/api/lib
. tests/api/stack
start_stack
node tests/api/requests.mjs "$T" || exit 1
q=$(enc 'cpu{}')
range='from=1700000000&until=1700000010'

put "$T/pprof.bin" "/ingest?name=known&$range&format=pprof"
put "$T/unsaid.bin" "/ingest?name=unsaid&$range&format=pprof"
get GET "/api/v1/flamegraph.json?query=$q&$range"
check "known samples are counted, the rest is an amount" js '
    d.memlens.total === 120e6 && d.memlens.samples === 5 &&
    d.memlens.samples_unknown === 70e6 && d.memlens.total_samples === 5 &&
    d.memlens.total_unknown === 70e6 && d.memlens.period === null'
check "by frame" js 'JSON.stringify(d.memlens.sample_levels) ===
    "[[5,0],[5,0],[3,3,2,2]]" && JSON.stringify(d.memlens.unknown_levels) ===
    "[[70000000,0],[70000000,0],[70000000,70000000,0,0]]"'
get GET "/api/v1/flamegraph.json?query=$q&$range&max-nodes=2"
check "and of what is cut" js 'd.memlens.cut.samples === 5 &&
    d.memlens.cut.samples_unknown === 70e6'
get GET "/api/v1/flamegraph.json?query=$q&$range&reverse=1&focus=read"
check "read from the leaves, in focus" js 'd.memlens.samples === 3 &&
    d.memlens.samples_unknown === 70e6 &&
    d.memlens.unknown_levels[1].join() === "70000000,0"'
get GET "/api/v1/flamegraph.json?query=$(enc 'cpu{service="known"}')&$range"
check "all known: nothing is unknown" js 'd.memlens.samples === 5 &&
    d.memlens.samples_unknown === 0 && !d.memlens.unknown_levels'
get GET "/api/v1/flamegraph.json?query=$(enc 'cpu{service="unsaid"}')&$range"
check "nothing known: null" js 'd.memlens.samples === null &&
    d.memlens.samples_unknown === null'

row='((n) => d.rows.find((r) => r.name === n))'
get GET "/api/v1/table.json?query=$q&$range&search=read"
check "by function" js "$row"'("read").self_samples === 3 &&
    '"$row"'("read").self_unknown === 70e6 && d.matched.samples === 3 &&
    d.matched.samples_unknown === 70e6'
get GET "/api/v1/table.json?query=$q&$range"
check "a row of known ones says so" js "$row"'("write").total_samples === 2 &&
    '"$row"'("write").total_unknown === 0 &&
    '"$row"'("main").total_unknown === 70e6'
get GET "/api/v1/sandwich.json?query=$q&$range&function=read"
check "a sandwich" js 'd.function.total_samples === 3 &&
    d.function.total_unknown === 70e6 &&
    d.callers.unknown_levels[0][0] === 70e6'
get GET "/api/v1/diff.json?query=$(enc 'cpu{service="known"}')&query-b=$q&$range"
check "few where all is known, null where more may be" js '
    '"$row"'("write").few === true && '"$row"'("write").samples === 4 &&
    '"$row"'("read").few === null && '"$row"'("read").samples === 6 &&
    '"$row"'("read").total_unknown.join() === "0,70000000" &&
    JSON.stringify(d.unknown_levels[0]) === "[0,0,70000000,0]"'
get GET "/api/v1/flamegraph.svg?query=$q&$range"
check "a picture says at least" grep -q 'at least 5 samples' "$T/body"
check "and of a known frame the number" grep -q '[^t] 2 samples\|>write[^<]*2 samples' "$T/body"
get GET "/api/v1/diff.svg?query=$(enc 'cpu{service="known"}')&query-b=$q&$range"
check "a picture of two" grep -q 'A 3 [^<]*B at least 3 ' "$T/body"
get GET "/api/v1/table.csv?query=$q&$range"
check "a table to be saved" grep -q '^"read",.*,3,3,70000000,70000000' "$T/body"
get GET "/api/v1/flamegraph.pprof?query=$q&$range"
sed '1,/^\r$/d' "$T/answer" | gzip -dc >"$T/pprof"
check "a pprof says it in a comment" grep -qa \
    'at least so many: of 70,000,000 nanoseconds' "$T/pprof"
exit $bad
