#!/bin/bash
# Files and lines of pushed functions: what was said of them comes out again.
. tests/api/lib
. tests/api/stack
start_stack
node tests/api/requests.mjs "$T" || exit 1
q=$(enc 'cpu{service="lines"}')
range='from=1700000000&until=1700000010'

# of the last answer: name, file, start line of each function and line of its
# location, as text
functions()
{
	{ if [ "$1" = gzip ]; then gzip -dc; else cat; fi; } <"$T/raw" |
	    protoc --decode=pprof.Profile -Ifcgi/format pprof.proto >"$T/text"
	node -e '
		const t = require("fs").readFileSync(process.argv[1], "utf8");
		const list = (k) => [...t.matchAll(new RegExp(
		    `^${k} \\{\\n([^]*?)^\\}`, "gm"))].map(m => m[1]);
		const s = [...t.matchAll(/^string_table: "(.*)"$/gm)]
		    .map(m => m[1]);
		const n = (o, k) => +((o.match(
		    new RegExp(`^ *${k}: (\\d+)`, "m")) || [])[1] || 0);
		console.log(list("function").map(f => [s[n(f, "name")],
		    s[n(f, "filename")], n(f, "start_line")].join(" ")).sort()
		    .join(","));' "$T/text"
}
raw()
{
	sed '1,/^\r$/d' "$T/answer" >"$T/raw"
}
rows()
{
	get GET "/api/v1/table.json?query=$q&$range&places=1"
}
three="main app.c 1,read app.c 11,write app.c 21"

put "$T/pprof.bin" "/ingest?name=lines&$range&format=pprof"
rows
check "a table says where, the first line where no start is known" js '
    d.rows.every(r => r.places.length === 1 &&
    r.places[0].file === "app.c") && d.rows.map(r => r.places[0].line)
    .sort((a, b) => a - b).join() === "1,11,21"'
put "$T/pprof.bin" "/ingest?name=lines&$range&format=pprof"
rows
check "told again: the same" js 'd.rows.every(r => r.places.length === 1)'
command -v protoc >/dev/null || {
	echo "skip - pprof: protoc is not installed"
	exit $bad
}
get GET "/api/v1/flamegraph.pprof?query=$q&$range"
raw
check "flamegraph.pprof has files and lines" test "$(functions gzip)" = \
    "$three"
get GET "/render?format=pprof&query=$(enc 'lines.cpu{}')&$range"
raw
check "/render?format=pprof has them" test "$(functions gzip)" = "$three"
id=process_cpu:cpu:nanoseconds:cpu:nanoseconds
printf '%s' "start: 1700000000000 end: 1700000010000 profile_typeID: \"$id\"
    label_selector: \"{service_name=\\\"lines\\\"}\"" |
    protoc --encode=connect.SelectMergeProfileRequest -Ifcgi/format \
    connect.proto >"$T/ask.bin"
put "$T/ask.bin" /querier.v1.QuerierService/SelectMergeProfile \
    CONTENT_TYPE=application/proto
raw
check "SelectMergeProfile has them" test "$(functions plain)" = "$three"

# an earlier line of the same functions, and a start that is said
protoc --decode=pprof.Profile -Ifcgi/format pprof.proto <"$T/pprof.bin" |
    sed 's/^\( *line: \)11$/\17/; s/^\(  filename: .*\)/\1/' >"$T/early"
protoc --encode=pprof.Profile -Ifcgi/format pprof.proto <"$T/early" \
    >"$T/early.bin"
put "$T/early.bin" "/ingest?name=lines&$range&format=pprof"
rows
check "an earlier line is that of the function" js '((p) => p.length === 1 &&
    p[0].line === 7)(d.rows.find(r => r.name === "read").places)'
sed 's/^\(  filename: .*\)/\1\n  start_line: 3/' "$T/early" |
    protoc --encode=pprof.Profile -Ifcgi/format pprof.proto >"$T/start.bin"
put "$T/start.bin" "/ingest?name=lines&$range&format=pprof"
rows
check "a start that is said goes before" js 'd.rows.every(r =>
    r.places.length === 1 && r.places[0].line === 3)'

# another service's functions of the same names are its own
sed 's,app[.]c,/evil/other.c,' "$T/early" |
    protoc --encode=pprof.Profile -Ifcgi/format pprof.proto >"$T/evil.bin"
put "$T/evil.bin" "/ingest?name=evil&$range&format=pprof"
printf 'main;read 3\n' >"$T/plain.txt"
put "$T/plain.txt" "/ingest?name=plain&$range&format=folded"
rows
check "places of one service are not another's" js 'd.rows.every(r =>
    r.places.length === 1 && r.places[0].file === "app.c" &&
    r.places[0].service === "lines")'
q=$(enc 'cpu{service="plain"}')
rows
check "nor of one without files" js 'd.rows.length === 2 &&
    d.rows.every(r => r.places.length === 0)'
get GET "/api/v1/flamegraph.pprof?query=$q&$range"
raw
check "nor in its pprof" test "$(functions gzip)" = "main  0,read  0"
q=$(enc 'cpu')
rows
check "of all services, each says whose it is" js '((p) => p.length === 2 &&
    p.map(x => x.service + x.file).sort().join() ===
    "evil/evil/other.c,linesapp.c")(d.rows.find(r =>
    r.name === "write").places)'

put "$T/push.bin" /push.v1.PusherService/Push CONTENT_TYPE=application/proto
q=$(enc 'cpu{service="pushed"}')
rows
check "Connect's push says where too" js 'd.rows.length > 0 &&
    d.rows.every(r => r.places.length > 0)'
"$B/memlens" import --service brought --slot 10s "$T/pprof.bin" \
    "$T/other" 2>"$T/import.log"
check "memlens import brings them" sh -c 'grep -qa app.c "$1"/* ' - "$T/other"
exit $bad
