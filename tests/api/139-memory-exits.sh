#!/bin/bash
# One heap dump, one question, every exit: the table, the flame graph, folded
# stacks, pprof, Pyroscope's interfaces, and what memlens heap says of the file.
. tests/api/lib
. tests/api/stack
start_stack
at="from=1700000000&until=1700000010"

# Samples of small and large objects, so that scaling leaves fractions.
cat >"$T/dump" <<'END'
--- symbol
0x1 malloc
0x10 cache_put
0x20 serve
0x30 main
0x40 parse
0x50 log_line
---
--- heap
heap_v2/524288
  t*: 9: 9 [9: 9]
@ 0x1 0x11 0x21 0x31
 t*: 3: 300077 [10: 1000256]
@ 0x1 0x41 0x21 0x31
 t*: 7: 777 [70: 7770]
@ 0x1 0x51 0x31
 t*: 1: 5000011 [2: 10000022]
@ 0x1 0x11 0x31
 t*: 11: 11111 [11: 11111]
END
put "$T/dump" "/ingest?name=db&$at&format=heap_v2"
check "a dump is taken" status 200

# folded TYPE : "function self total", as a script that knows nothing else adds
# up stacks
functions() {
	awk '{ n = split($1, f, ";"); v = $NF; self[f[n]] += v
		split("", seen)
		for (i = 1; i <= n; i++) if (!(f[i] in seen)) {
			seen[f[i]] = 1; total[f[i]] += v } }
		END { for (k in total)
			printf "%s %d %d\n", k, self[k], total[k] }' | sort
}
ask_table() {
	get GET "/api/v1/table.json?query=$1&$at"
	node -e 'const d = JSON.parse(require("fs").readFileSync(0, "utf8"));
	    for (const r of d.rows || d.functions)
		console.log(r.name, r.self, r.total)' <"$T/body" | sort
}
ask_folded() {
	get GET "/api/v1/flamegraph.folded?query=$1&$at"
	functions <"$T/body"
}
ask_flame() {
	get GET "/api/v1/flamegraph.json?query=$1&$at&max-nodes=-1"
	node tests/api/flame-functions.mjs <"$T/body" | sort
}
ask_render() {
	get GET "/render?query=$1&$at&format=json&max-nodes=100000"
	node tests/api/flame-functions.mjs <"$T/body" | sort
}
ask_collapsed() {
	get GET "/render?query=$1&$at&format=collapsed"
	functions <"$T/body"
}
ask_pprof() {
	get GET "/api/v1/flamegraph.pprof?query=$1&$at"
	sed '1,/^\r$/d' "$T/answer" | gzip -dc >"$T/pprof"
	node tests/api/pprof-functions.mjs <"$T/pprof" | sort
}
ask_querier() {
	printf '{"start":"1700000000000","end":"1700000010000","profileTypeID":"%s","labelSelector":"{service_name=\\"db\\"}","maxNodes":"100000"}' "$2" >"$T/ask"
	BODY=$T/ask get POST "/querier.v1.QuerierService/SelectMergeStacktraces" \
	    CONTENT_TYPE=application/json CONTENT_LENGTH="$(stat -c %s "$T/ask")"
	node tests/api/flame-functions.mjs <"$T/body" | sort
}

for type in inuse_space inuse_objects alloc_space alloc_objects; do
	q=$(enc "$type{service=\"db\"}")
	unit=bytes
	[ "${type#*_}" = space ] || unit=count
	"$B/memlens" heap --folded --type $type "$T/dump" | functions >"$T/want"
	check "$type: the command's stacks have all functions" [ "$(wc -l <"$T/want")" = 5 ]
	for exit in table flame folded render collapsed pprof querier; do
		ask_$exit "$q" "memory:$type:$unit:space:bytes" >"$T/got" 2>"$T/err"
		check "$type: $exit says as the command does" \
		    diff "$T/want" "$T/got"
	done
	get GET "/api/v1/flamegraph.json?query=$q&$at"
	total=$(awk '$1 == "main" { print $3 }' "$T/want")
	check "$type: all of it, in $unit" js "d.flamebearer.numTicks === $total &&
	    d.memlens.unit === '$unit' && d.memlens.total === $total"
	"$B/memlens" heap --text --bytes --type $type "$T/dump" >"$T/text"
	check "$type: and the command's table" [ \
	    "$(awk '/^Total:/ { print $2 }' "$T/text")" = "$total" ]
done
exit $bad
