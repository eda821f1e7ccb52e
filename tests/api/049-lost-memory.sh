#!/bin/sh
# What lost records of memory stand for, in bytes and objects; that it is nothing
# to a heap profile that was pulled; and who of a service is not observed.
. tests/api/lib
END=$(($(date +%s) / 10 * 10)) SLOTS=80
MEMORY=1
export MEMORY
start
# Tens of slots, from the newest on: what was lost in each is in fill_store.c.
# tree QUERY [TENS] : of the tens that begin so many before the end
tree()
{
	until=$((END - ${2:-0} * 100))
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&from=$((until - 100))&until=$until"
}
same='const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    const m = d.memlens;'
kept='{service="kept"}'
told() { js "(() => { $same return ($1); })()"; }

tree "alloc_space$kept" 0
check "nothing lost" told 'm.state === "data" && m.incomplete === undefined &&
    same(m.lost_bytes, {}) && same(m.lost_objects, {}) && m.why === ""'
tree "alloc_space$kept" 1
check "the ring: bytes and objects, of the host" told 'm.incomplete === true &&
    m.lost["ring full"] === 70 && m.lost_bytes["ring full"] === 70000 &&
    m.lost_objects["ring full"] === 700 &&
    m.lost_bytes_on_host["ring full"] === 70000 &&
    m.lost_objects_on_host["ring full"] === 700 && m.total === 10000 &&
    /allocations .* may lack some.*lost_bytes/.test(m.why)'
tree "alloc_objects$kept" 1
check "objects are made of the same records" told 'm.incomplete === true &&
    m.lost["ring full"] === 70 && m.lost_objects["ring full"] === 700'
tree "short_space$kept" 1
check "what is short, too" told 'm.lost_bytes["ring full"] === 70000'
tree "alloc_space$kept" 2
check "what is known to be the service's is its own" told '
    m.lost["held full"] === 50 && m.lost_bytes["held full"] === 50000 &&
    same(m.lost_bytes_on_host, {}) && m.faults === "service"'
tree alloc_space 2
check "of the host it is as much" told 'm.lost_bytes["held full"] === 50000 &&
    m.faults === "host" && m.observed === null'
tree "inuse_space$kept" 3
check "what is in use had no room" told '
    m.lost_bytes["aggregate full"] === 30000 &&
    same(m.lost_bytes_on_host, {}) && m.lost["table unread"] === 10 &&
    m.lost_bytes["table unread"] === undefined'
tree "inuse_objects$kept" 3
check "and its objects" told 'm.lost_objects["aggregate full"] === 300'
tree "inuse_space$kept" 1
check "records of the ring are found again in the table" told '
    same(m.lost_bytes, {})'
tree 'alloc_space{service="unseen"}' 0
check "nothing seen, nothing lost: zero" told 'm.state === "zero" &&
    /allocator that is part of the program/.test(m.why)'
tree 'alloc_space{service="unseen"}' 1
check "nothing seen, and some lost: no data" told 'm.state === "no data" &&
    /nothing was seen, but allocations/.test(m.why)'

tree 'alloc_space{service="kv"}' 0
check "who has no library is no data, and why" told 'm.state === "no data" &&
    /no process of these had a sample, one in 512 KiB, of the library/.test(m.why)'
get GET "/api/v1/lifetimes?service=kv&from=$((END - 200))&until=$END"
check "so are his lifetimes" js 'd.state === "no data" &&
    /no process of these had a sample, one in 512 KiB, of the library/.test(d.why)'

for type in alloc_space inuse_space; do
	tree "$type{service=\"pulled\"}" 1
	check "$type that was pulled has lost nothing" told '
	    m.state === "data" && same(m.lost, {}) && same(m.broken, {}) &&
	    same(m.lost_bytes, {}) && m.incomplete === undefined &&
	    m.observed === null'
	tree "$type{service=\"pulled\"}" 3
	check "$type neither where the library has" told 'same(m.lost, {})'
done
tree 'alloc_space{service="kept",instance="two"}' 1
check "nor has an instance without the library" told 'same(m.lost, {})'
tree 'alloc_space{service="kept",instance="one"}' 1
check "that with it has" told 'm.lost_bytes["ring full"] === 70000'

tree "inuse_space$kept" 0
check "one of two processes is observed, a quarter of what is resident" told '
    m.observed.processes === 0.5 && m.observed.resident === 0.25'
tree 'inuse_space{service="kept",instance="one"}' 0
check "all of the instance that has it" told 'm.observed.processes === 1'
tree 'cpu{service="kv"}' 0
check "of CPU time nobody asks" told 'm.observed === undefined &&
    m.lost_bytes === undefined'
get GET "/api/v1/table.json?query=$(enc "alloc_space$kept")&from=$((END - 200))&until=$END"
check "a table says it, too" js 'd.lost_bytes["ring full"] === 70000 &&
    d.observed.processes === 0.5'
get GET "/api/v1/lifetimes?service=kept&from=$((END - 200))&until=$END"
check "and lifetimes" js 'd.lost_bytes["ring full"] === 70000 &&
    d.lost["ring full"] === 70 && d.observed.resident === 0.25 &&
    d.incomplete === true'
get GET "/api/v1/lifetimes?service=pulled&from=$((END - 200))&until=$END"
check "of its own alone" js 'JSON.stringify(d.lost) === "{}"'
of="service=kept&instance=two&from=$((END - 200))&until=$END"
get GET "/api/v1/lifetimes?$of"
check "of an instance without the library they know nothing" js '
    d.state === "no data" && d.allocated === null && d.short === null &&
    d.slots === 0'
get GET "/api/v1/leaks?$of"
check "nor has it a heap of nothing" js '
    d.heap === false && d.by !== "inuse_space"'
get GET "/api/v1/leaks?service=kept&from=$((END - 200))&until=$END"
check "leaks say who is observed" js 'd.observed.resident === 0.25'
get GET /api/v1/health
check "health has the bytes" js '(() => {
    const s = d.sources.find((x) => x.name === "alloc_space");
    return s.lost["ring full"] === 70 && s.lost_bytes["ring full"] === 70000 &&
        s.lost_objects["ring full"] === 700 &&
        s.lost_bytes["held full"] >= 20000 && /* as far as that is recent */
        d.sources.find((x) => x.name === "cpu").lost_bytes === undefined;
})()'
exit $bad
