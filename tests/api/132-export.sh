#!/bin/sh
# What a page shows, in the formats of other tools.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
range='from=1699998600&until=1699998700'
stem=cpu-kv-20231114T215000Z-100s
get GET "/api/v1/flamegraph.folded?query=$q&$range"
check "folded" test "$(cat "$T/body")" = "main;idle;futex_wait_[k] 101010100
main;read 303030300
main;write 202020200"
check "which are nanoseconds" header 'MemLens-Unit: nanoseconds'
check "its name" header "Content-Disposition: attachment; filename=\"$stem.folded\""
get GET "/api/v1/flamegraph.folded?query=$q&$range&bare=1&focus=futex"
check "bare, with a focus" test "$(cat "$T/body")" = "main;idle;futex_wait 101010100"
get GET "/api/v1/flamegraph.folded?query=$(enc 'cpu{service="odd"}')&$range"
check "odd bytes stay" grep -q '^<b>&"' "$T/body"

get GET "/api/v1/flamegraph.speedscope.json?query=$q&$range"
check "speedscope" js '
    d.$schema === "https://www.speedscope.app/file-format-schema.json" &&
    d.activeProfileIndex === 0 && d.profiles.length === 1 &&
    d.shared.frames.every((f) => typeof f.name === "string")'
check "sampled, from the root, in nanoseconds" js '((p) =>
    p.type === "sampled" && p.unit === "nanoseconds" && p.startValue === 0 &&
    p.samples.length === p.weights.length &&
    p.endValue === p.weights.reduce((s, v) => s + v, 0) &&
    p.endValue === 60 * 10101010 &&
    p.samples.map((s) => s.map((i) => d.shared.frames[i].name).join(";"))
    .join() === "main;idle;futex_wait,main;read,main;write")(d.profiles[0])'
check "its name" header "Content-Disposition: .*$stem.speedscope.json"

get GET "/api/v1/flamegraph.pprof?query=$q&$range"
check "pprof is packed" header 'Content-Type: application/octet-stream'
sed '1,/^\r$/d' "$T/answer" | gzip -dc >"$T/pprof" 2>/dev/null
check "pprof has the names" grep -qa futex_wait "$T/pprof"
check "and where they were written, once that is known" grep -qa \
    '/src/a:b.cc' "$T/pprof"
check "its name" header "Content-Disposition: .*$stem.pb.gz"
get GET "/api/v1/flamegraph.pprof?query=$q&$range&focus=main"
check "no focus in pprof" status 400

get GET "/api/v1/table.csv?query=$q&$range"
check "csv" test "$(tr -d '\r' <"$T/body" | head -n 3)" = \
'function,kind,self,total,self_share,total_share,self_samples,total_samples
"read",user,303030300,303030300,0.5,0.5,30,30
"write",user,202020200,202020200,0.333333,0.333333,20,20'

get GET "/api/v1/flamegraph.html?query=$q&$range&title=%3Cscript%3E"
check "html" header 'Content-Type: text/html'
check "its title is text" grep -q '<h1>&lt;script&gt;</h1>' "$T/body"
check "a row for each function" test "$(grep -c '^<tr><th' "$T/body")" = 5
check "nothing is fetched" sh -c '! grep -qE "(src|href)=.(https?:|/)" "$1"' \
    - "$T/body"
sed -n 's/.*base64,\([^"]*\)".*/\1/p' "$T/body" | base64 -d >"$T/svg"
check "the picture is whole" grep -q '^</svg>' "$T/svg"

get GET "/api/v1/flamegraph.html?query=wall&from=1699998500&until=1699999500"
check "mixed periods are time, and its samples" grep -q \
    'UTC   [0-9.]* s, 360 samples</p>' "$T/body"
check "and milliseconds in the table" grep -q 'Self, ms' "$T/body"

check "and samples" grep -q '<td>360</td></tr>' "$T/body"
wall='query=wall&from=1699998500&until=1699999500'
get GET "/api/v1/flamegraph.folded?$wall"
check "folded text of several periods says its unit too" \
    header 'MemLens-Unit: nanoseconds'
get GET "/api/v1/flamegraph.svg?$wall"
check "a picture counts them" grep -q '<title>main (360 samples, 100.00%, ' \
    "$T/body"
# values of a pprof's only sample, as od has them
pprof()
{
	sed '1,/^\r$/d' "$T/answer" | gzip -dc | protoc --decode=pprof.Profile \
	    -Ifcgi/format pprof.proto 2>/dev/null >"$T/pprof"
}
get GET "/api/v1/flamegraph.pprof?$wall"
pprof
check "a pprof of several periods: samples beside nanoseconds" \
    grep -q '^  value: 360$' "$T/pprof"
check "of two types, and of no period" sh -c \
    '[ "$(grep -c "^sample_type" "$1")" = 2 ] && ! grep -q "^period:" "$1"' \
    - "$T/pprof"
get GET "/api/v1/flamegraph.pprof?query=$q&$range"
pprof
check "of one: its own" sh -c 'grep -q "^  value: 30$" "$1" &&
    grep -q "^  value: 303030300$" "$1" && grep -q "^period: 10101010$" "$1"' \
    - "$T/pprof"

get GET "/api/v1/flamegraph.png?query=$q&$range&width=640&scale=2"
check "png" header 'Content-Type: image/png'
check "as wide as asked" test "$(sed '1,/^\r$/d' "$T/answer" |
    od -An -tu1 -j16 -N4 | tr -s ' ')" = " 0 0 5 0"
get GET "/api/v1/flamegraph.png?query=$(enc 'cpu{service="odd"}')&$range"
check "png of odd names" status 200
get GET "/api/v1/flamegraph.png?query=$q&from=1699999500&until=1699999600"
check "png of nothing" status 200
get GET "/api/v1/flamegraph.png?query=$q&$range&scale=9"
check "not at any scale" status 400
get GET "/api/v1/flamegraph.folded?query=$q&from=1699999500&until=1699999600"
check "folded of nothing is empty" test ! -s "$T/body"
exit $bad
