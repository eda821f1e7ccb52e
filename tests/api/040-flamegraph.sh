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
    [0,10,0,2,0,30,30,4,0,20,20,5], [0,10,10,3]].map((l) => l.map((v, i) =>
    i % 4 === 3 ? v : v * 10101010)), numTicks: 606060600,
    maxSelf: 303030300})'
check "metadata" js 'd.version === 1 && d.metadata.format === "single" &&
    d.metadata.sampleRate === 1e9 && d.metadata.units === "samples" &&
    d.metadata.spyName === "memlens" &&
    d.metadata.name === "cpu{service=\"kv\"}"'
check "what it covers" js 'd.memlens.from === 1699998600 &&
    d.memlens.until === 1699998700 && d.memlens.slots === 10 &&
    d.memlens.samples === 60 && d.memlens.total === 606060600 &&
    d.memlens.total_samples === 60 && d.memlens.state === "data" &&
    d.memlens.unit === "nanoseconds" && d.memlens.period === 10101010 &&
    !("sample_levels" in d.memlens)'
check "nothing is hidden" js 'JSON.stringify(d.memlens.cut) ===
    JSON.stringify({total: 0, samples: 0, samples_unknown: 0, nodes: 0})'
check "what was lost" js 'd.memlens.lost.ring_full === 10'
check "stacks that are not whole are its own, not the host's" js \
    'd.memlens.faults === "service" && JSON.stringify(d.memlens.broken) ===
    JSON.stringify({"no memory": 70, "no tables yet": 30})'
check "kinds stand beside names" js 'd.memlens.kinds.join() ===
    "unknown,user,user,kernel,user,user"'

q=$(enc 'cpu{service="kv",pool="b"}')
get GET "/api/v1/flamegraph.json?query=$q&$range"
check "a label of stacks filters" js 'd.flamebearer.numTicks === 303030300 &&
    d.memlens.samples === 30'
get GET "/api/v1/flamegraph.json?query=cpu&$range"
check "all services" js 'd.flamebearer.numTicks === 707070700 &&
    d.memlens.samples === 70'
check "of all, the host's" js 'd.memlens.faults === "host" &&
    JSON.stringify(d.memlens.broken) === "{\"no tables yet\":5000}"'
get GET "/api/v1/flamegraph.json?query=$(enc 'cpu{service=~"kv|o.*"}')&$range"
check "of several services, theirs" js 'd.memlens.faults === "service" &&
    JSON.stringify(d.memlens.broken) === JSON.stringify({"no memory": 70,
    "no row": 4700, "no tables yet": 30})'

# wall{service="kv"} has 10 ms and 20 ms a sample, a hundred slots of each:
# what a number means does not turn with the range, nor with who lies in it
tree()
{
	get GET "/api/v1/flamegraph.json?query=wall&from=$1&until=$2&$3"
}
tree 1699998800 1699998900
check "one period: samples follow" js 'd.memlens.period === 10000000 &&
    d.flamebearer.numTicks === d.memlens.samples * 10000000 &&
    d.memlens.samples === 40'
tree 1699999100 1699999200
check "the other one" js 'd.memlens.period === 20000000 &&
    d.flamebearer.numTicks === d.memlens.samples * 20000000 &&
    d.memlens.samples === 40'
tree 1699998900 1699999100
check "both: the unit stays, samples are counted" js '
    d.memlens.period === null && d.memlens.unit === "nanoseconds" &&
    d.metadata.sampleRate === 1e9 && d.memlens.samples === 80 &&
    d.flamebearer.numTicks === 10 * 4 * 30000000 &&
    JSON.stringify(d.memlens.sample_levels) === "[[80,0],[80,80]]"'
tree 1699998900 1699999100 max-nodes=1
check "what is cut has its samples too" js '
    JSON.stringify(d.memlens.sample_levels) === "[[80,0],[80,80]]" &&
    JSON.stringify(d.memlens.cut) ===
    JSON.stringify({total: 1200000000, samples: 80,
    samples_unknown: 0, nodes: 1})'
exit $bad
