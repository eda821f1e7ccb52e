#!/bin/sh
# The search box's question: exact, of the whole tree, however large it is.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
range='from=1699998600&until=1699998700'
get GET "/api/v1/table.json?query=$q&$range&search=READ"
check "the stacks with a match, and its row" js 'd.functions === 1 &&
    d.rows.map((r) => r.name).join() === "read" &&
    d.matched.amount === d.rows[0].total && d.matched.amount > 0 &&
    d.matched.share === d.rows[0].total_share &&
    d.matched.samples === d.rows[0].total_samples'
get GET "/api/v1/table.json?query=$q&$range&search=$(enc '/^(read|main)$/')"
check "each stack once" js 'd.functions === 2 && d.matched.amount ===
    d.rows.find((r) => r.name === "main").total'
get GET "/api/v1/table.json?query=$q&$range&search=$(enc /FUTEX/i)&limit=0"
check "either case; no row is asked for" js 'd.functions === 1 &&
    d.rows.length === 0 && d.matched.amount > 0'
get GET "/api/v1/table.json?query=$q&$range&search=nobody"
check "nothing" js 'd.functions === 0 && d.matched.amount === 0'
get GET "/api/v1/table.json?query=$q&$range"
check "not unless it is asked for" js '!("matched" in d)'
get GET "/api/v1/table.json?query=$q&$range&search=$(enc '/(/')"
check "no expression" js 'd.field === "search"'
get GET "/api/v1/table.json?query=$q&$range&sort=-total&limit=2"
check "the last ones first" js 'd.functions === 5 &&
    d.rows[0].total <= d.rows[1].total && d.rows[1].total < d.total'
b='from-b=1699998700&until-b=1699998800'
get GET "/api/v1/diff.json?query=$q&$range&$b&search=read&max-nodes=1"
check "of A and of B" js 'd.functions === 1 &&
    d.matched.amount.join() === d.rows[0].total.join()'
get GET "/api/v1/diff.json?query=$q&$range&$b&search=$(enc '/\z/')"
check "what browsers read otherwise" js 'd.field === "search"'
exit $bad
