#!/bin/sh
# A call tree as flamebearer.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
range='from=1699998600&until=1699998700'
get GET "/api/v1/flamegraph.json?query=$q&$range"
check "type" header 'Content-Type: application/json'
check "the tree, exactly" js 'JSON.stringify(d.flamebearer) ===
    JSON.stringify({names: ["total", "main", "idle", "futex_wait", "read",
    "write"], levels: [[0,60,0,0], [0,60,0,1],
    [0,10,0,2,0,30,30,4,0,20,20,5], [0,10,10,3]], numTicks: 60,
    maxSelf: 30})'
check "metadata" js 'd.version === 1 && d.metadata.format === "single" &&
    d.metadata.sampleRate === 99 && d.metadata.units === "samples" &&
    d.metadata.spyName === "memlens" &&
    d.metadata.name === "cpu{service=\"kv\"}"'
check "what it covers" js 'd.memlens.from === 1699998600 &&
    d.memlens.until === 1699998700 && d.memlens.slots === 10 &&
    d.memlens.samples === 60 && d.memlens.state === "data" &&
    d.memlens.unit === "nanoseconds" && d.memlens.period_ns === 10101010'
check "what was lost" js 'd.memlens.lost.ring_full === 10'
check "stacks that are not whole are its own, not the host's" js \
    'd.memlens.faults === "service" && JSON.stringify(d.memlens.broken) ===
    JSON.stringify({"no memory": 70, "no tables yet": 30})'
check "kinds stand beside names" js 'd.memlens.kinds.join() ===
    "unknown,user,user,kernel,user,user"'

q=$(enc 'cpu{service="kv",pool="b"}')
get GET "/api/v1/flamegraph.json?query=$q&$range"
check "a label of stacks filters" js 'd.flamebearer.numTicks === 30'
get GET "/api/v1/flamegraph.json?query=cpu&$range"
check "all services" js 'd.flamebearer.numTicks === 70'
check "of all, the host's" js 'd.memlens.faults === "host" &&
    JSON.stringify(d.memlens.broken) === "{\"no tables yet\":5000}"'
get GET "/api/v1/flamegraph.json?query=$(enc 'cpu{service=~"kv|o.*"}')&$range"
check "of several services, theirs" js 'd.memlens.faults === "service" &&
    JSON.stringify(d.memlens.broken) === JSON.stringify({"no memory": 70,
    "no row": 4700, "no tables yet": 30})'
exit $bad
