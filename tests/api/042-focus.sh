#!/bin/sh
# focus, ignore and max-nodes.
. tests/api/lib
END=1700000000
start
u="/api/v1/flamegraph.json?query=$(enc 'cpu{service="kv"}')"
u="$u&from=1699998600&until=1699998700"
get GET "$u&focus=$(enc '^(read|write)$')"
check "focus keeps stacks that match" js 'd.flamebearer.numTicks === 505050500 &&
    d.memlens.samples === 50 && d.memlens.total === 606060600 &&
    d.memlens.total_samples === 60'
get GET "$u&ignore=futex"
check "ignore drops them" js 'd.flamebearer.numTicks === 505050500 &&
    !d.flamebearer.levels[3]'
get GET "$u&focus=nothing"
check "nothing left is not no data" js 'd.flamebearer.numTicks === 0 &&
    d.memlens.slots === 10 && d.memlens.state === "data"'
get GET "$u&focus=("
check "a bad expression is a 400" status 400
check "and names its field" js 'd.field === "focus"'
get GET "$u&ignore=$(enc '((a{99}){99}){99}')"
check "an expression that explodes is refused" status 400

get GET "$u&max-nodes=3"
check "what was cut stays as (other)" js 'd.flamebearer.numTicks === 606060600 &&
    JSON.stringify(d.flamebearer.levels[2]) ===
    "[0,303030300,303030300,2,0,303030300,303030300,3]" &&
    JSON.stringify(d.memlens.cut) ===
    JSON.stringify({total: 303030300, samples: 30, samples_unknown: 0,
        nodes: 3}) &&
    d.flamebearer.names.join() === "total,main,read,(other)"'
get GET "$u&max-nodes=-1"
check "-1 keeps all" js 'd.flamebearer.levels.length === 4'
for n in x 1.5 -2 '' 99999999999; do
	get GET "$u&max-nodes=$n"
	check "max-nodes=$n is a 400" status 400
done

get GET "$u&reverse=1"
check "from the leaves" js 'd.flamebearer.numTicks === 606060600 &&
    d.flamebearer.levels[1].filter((v, i) => i % 4 === 3)
    .map((i) => d.flamebearer.names[i]).sort().join() ===
    "futex_wait,read,write"'
get GET "$u&collapse=module"
check "frames of a module as one" js 'd.flamebearer.numTicks === 606060600 &&
    d.flamebearer.levels.length === 3'
get GET "$u&min-width=20%25"
check "the small ones are gathered" js 'd.flamebearer.numTicks === 606060600 &&
    !d.flamebearer.names.includes("idle") &&
    d.flamebearer.names.some((n) => n.startsWith("(other"))'
for o in reverse=2 collapse=x min-width=101%25 min-width=a%25 min-width=5; do
	get GET "$u&$o"
	check "$o is a 400" status 400
done

slow='(?:|){40}(?<=!)'
for p in focus ignore; do
	get GET "$u&$p=$(enc "$slow")"
	check "a $p that takes too long is no answer" status 400
	check "... and says so" js 'd.field === "'$p'" &&
	    /takes too long/.test(d.detail)'
	get GET "$u&$p=$(enc '(read')"
	check "a $p that does not compile says where" js \
	    'd.field === "'$p'" && /byte 5/.test(d.detail)'
done
get GET "$u&focus=$(enc '(?i)^READ$')"
check "what Grafana's users type" js 'd.flamebearer.names.join() ===
    "total,main,read"'
get GET "$(echo "$u" | sed 's/%22%7D&/%22%2Cpool!~%22'"$(enc "$slow")"'%22%7D\&/')"
check "nor is a selector's, where it refuses" js 'd.field === "query" &&
    /takes too long/.test(d.detail)'
exit $bad
