#!/bin/sh
# No data, zero, not attached and unknown are four answers.
. tests/api/lib
start
tree()
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&$2"
}
tree 'cpu{service="quiet"}' 
check "zero: looked at, nothing seen" js 'd.flamebearer.numTicks === 0 &&
    d.memlens.slots > 0 && d.memlens.state === "zero"'
tree 'cpu{service="kv"}' 'from=1000&until=2000'
check "no data" js 'd.flamebearer.numTicks === 0 && d.memlens.slots === 0 &&
    d.memlens.state === "no data" &&
    JSON.stringify(d.flamebearer.levels) === "[[0,0,0,0]]"'
tree 'offcpu{service="kv"}'
check "not attached, and why" js 'd.memlens.slots === 0 &&
    d.memlens.state === "not attached" && /tracepoint/.test(d.memlens.why)'
tree 'lock{service="kv"}'
check "off, and why" js 'd.memlens.slots === 0 && d.memlens.state === "off" &&
    /not enabled/.test(d.memlens.why)'
tree 'faults{service="kv"}'
check "what takes less does not explain that there is nothing" js '
    d.memlens.slots === 0 && d.memlens.state === "no data" &&
    d.memlens.why === ""'
tree 'inuse_space{service="kv"}' 'from=1000&until=2000'
check "nothing of it is nothing in its unit" js 'd.memlens.unit === "bytes" &&
    d.memlens.kind === "stock" && d.metadata.units === "bytes"'
tree 'cpu{service="kv",pool="no such"}'
check "labels that no stack has are no data" js 'd.flamebearer.numTicks === 0 &&
    d.memlens.state === "no data" && /labels/.test(d.memlens.why)'
tree 'cpu{service="nobody"}'
check "an unknown service is a 404" status 404
check "it says so" js '/nobody/.test(d.detail) && d.field === "query"'
exit $bad
