#!/bin/sh
# Where records of waits were lost, nobody seen to wait for a lock or to hold
# one is no zero, and who was seen may not be all.
. tests/api/lib
END=1700000000 SLOTS=80
WAITS=lost
export WAITS
start
# Tens of slots, from the newest on: what was lost in each is in fill_store.c.
# tree QUERY [TENS] : of the tens that begin so many before the end
tree()
{
	until=$((END - ${2:-0} * 100))
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&from=$((until - 100))&until=$until"
}
mix='lock_holder{service="mix"}' held='lock_holder{service="held"}'

tree "$mix" 0
check "nothing lost: a stated zero" js 'd.memlens.state === "zero" &&
    d.memlens.incomplete === undefined && d.memlens.slots === 10 &&
    /^offcpu has waits/.test(d.memlens.why) &&
    JSON.stringify(d.memlens.lost) === "{}"'
tree "$held" 0
check "and what was seen is all" js 'd.memlens.state === "data" &&
    d.memlens.incomplete === undefined && d.flamebearer.numTicks === 2e8'

tree "$mix" 1
check "locks full: no data, and why" js 'd.memlens.state === "no data" &&
    d.memlens.incomplete === true && /lost/.test(d.memlens.why) &&
    d.memlens.lost["locks full"] === 50 && d.memlens.slots === 10 &&
    d.memlens.faults === "service"'
tree "$held" 1
check "which is nothing to another service" js '
    d.memlens.state === "data" && d.memlens.incomplete === undefined'
tree lock_holder 1
check "of the host it is not told" js 'd.memlens.state === "data"'

tree "$mix" 2
check "ring full: no data" js 'd.memlens.state === "no data" &&
    d.memlens.incomplete === true &&
    d.memlens.lost["ring full"] === 70 &&
    d.memlens.lost_on_host["ring full"] === 70'
tree "$held" 2
check "what was seen may not be all" js 'd.memlens.state === "data" &&
    d.memlens.incomplete === true && /may lack/.test(d.memlens.why) &&
    d.flamebearer.numTicks === 2e8 && d.memlens.lost["ring full"] === 70'
tree lock_holder 2
check "of the host, too" js 'd.memlens.state === "data" &&
    d.memlens.incomplete === true'
tree 'lock{service="mix"}' 2
check "waits were not lost there" js 'd.memlens.state === "zero" &&
    d.memlens.incomplete === undefined'

tree 'lock{service="mix"}' 3
check "where they were, none seen is no data" js '
    d.memlens.state === "no data" && d.memlens.incomplete === true &&
    d.memlens.lost["ring full"] === 70'
tree "$held" 3
check "and holders are incomplete" js 'd.memlens.state === "data" &&
    d.memlens.incomplete === true && d.memlens.lost["ring full"] === 70'
tree 'offcpu{service="mix"}' 3
check "time off CPU is all there: what has no stack is marked" js '
    d.memlens.state === "data" && d.memlens.incomplete === undefined &&
    d.memlens.lost["ring full"] === 70'

get GET "/api/v1/flamegraph.json?query=$(enc "$mix")&from=$((END - 400))&until=$END"
check "a range that holds some of each" js 'd.memlens.state === "no data" &&
    d.memlens.lost["ring full"] === 140 && d.memlens.lost["locks full"] === 50'
get GET "/api/v1/table.json?query=$(enc "$held")&from=$((END - 400))&until=$END"
check "a table says so" js 'd.incomplete === true && /lost/.test(d.why)'
get GET "/api/v1/flamegraph.svg?query=$(enc "$mix")&from=$((END - 400))&until=$END"
check "an empty picture, too" grep -q 'no data: nothing was seen, but waits' \
    "$T/body"
tree 'lock_waits{service="mix"}' 3
check "of what was not recorded nothing is lost" js '
    d.memlens.state === "no data" && d.memlens.slots === 0 &&
    JSON.stringify(d.memlens.lost) === "{}"'
tree "$mix" 5
check "what others lose is nothing to it" js 'd.memlens.state === "zero" &&
    d.memlens.incomplete === undefined && d.memlens.slots === 10'
exit $bad
