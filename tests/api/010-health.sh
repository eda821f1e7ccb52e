#!/bin/sh
# A living store: what health says of it.
. tests/api/lib
# Ahead of the clock, so that it stays young on a machine that is slow.
END=$(($(date +%s) + 60))
start
get GET /api/v1/health
check "health is 200" status 200
check "health is not cached" header 'Cache-Control: no-store'
check "a source that is not attached degrades, and says why" \
    js 'd.status === "degraded" && /offcpu.*tracepoint/.test(d.reason)'
check "stacks that are not whole degrade: whose, how many, why" \
    js '/cpu: stacks that are not whole: of the host 50\.0 % \(no tables yet: unwind tables of the code are not made yet[^;]*\), of service other 50\.0 % \(no row: the code has neither [^;]*\), of service kv 5\.0 % \(no tables yet:/.test(d.reason)'
check "the store's extent" js 'd.store.until % 10 === 0 &&
    Date.now() / 1000 - d.store.until < 30 && d.store.from < d.store.until &&
    d.store.bytes > 0 && d.store.slots >= 640 && d.store.slots <= 720 && d.store.state === "ok"'
check "a source counts its samples and losses" js 'd.sources.some((s) =>
    s.name === "cpu" && s.state === "attached" && s.samples > 20000 &&
    s.lost.ring_full === s.samples / 1000 && Math.min(d.store.until, d.now) - s.last < 10)'
check "a source without samples has none" js 'd.sources.some((s) =>
    s.name === "procfs" && s.samples === null && s.last > 0)'
check "the daemon's own cost" \
    js 'near(d.self.cpu, 0.005) && d.self.rss === 20000000 &&
	d.self.private === 15000000'
exit $bad
