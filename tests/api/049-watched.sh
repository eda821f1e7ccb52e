#!/bin/sh
# How much of a range threads were watched for is said by all that tells of
# waits, and a mean is over that.
. tests/api/lib
END=1700000000 SLOTS=80
WAITS=restart
export WAITS
start
# 40 slots of 10 s have waits; the daemon began anew in that of 1699999800, and
# has watched 4 s of it
new='from=1699999600&until=1700000000' old='from=1699999200&until=1699999500'
q=$(enc 'thread_seconds_total{service="mix"}')
get GET "/api/v1/threads?query=$q&$new&step=10"
check "what was watched of the range, and of each step" js '
    d.watched.seconds === 394 && d.watched.points.length === 40 &&
    d.watched.points.every(([t, s]) => s === (t === 1699999800 ? 4 : 10))'
check "a mean is over that" js '((on) => on.seconds === 200 &&
    on.points.every(([t, v]) => v === (t === 1699999800 ? 1.25 : 0.5)))(
    d.pools[0].states.find((s) => s.state === "on cpu"))'
get GET "/api/v1/threads?query=$q&$new&step=40"
check "of more slots, too" js '((on) => on.points.every(([t, v]) =>
    Math.abs(v - (t === 1699999800 ? 20 / 34 : 0.5)) < 1e-9))(
    d.pools[0].states.find((s) => s.state === "on cpu"))'
get GET "/api/v1/threads?query=$q&$new&step=10&by=pool"
check "by labels of stacks" js 'd.watched.seconds === 394 && ((lock) =>
    lock.points.every(([t, v]) => Math.abs(v - 4.000000123 /
    (t === 1699999800 ? 4 : 10)) < 1e-9))(d.pools.flatMap((p) =>
    p.states).find((s) => s.state === "lock"))'
get GET "/api/v1/threads?query=$q&$old&step=10"
check "nobody has counted it" js 'd.watched.seconds === null &&
    d.watched.points.length === 0'
for type in offcpu wall lock; do
	get GET "/api/v1/flamegraph.json?query=$(enc "$type{service=\"mix\"}")&$new"
	check "$type" js 'd.memlens.watched_seconds === 394'
done
get GET "/api/v1/flamegraph.json?query=offcpu&from=1699999500&until=1700000000"
check "a gap is not watched" js 'd.memlens.watched_seconds === 394'
get GET "/api/v1/flamegraph.json?query=offcpu&from=1699999605&until=1700000000"
check "of a slot that the range cuts its share" js '
    d.memlens.watched_seconds === 389'
get GET "/api/v1/flamegraph.json?query=offcpu&$old"
check "no data is null" js 'd.memlens.watched_seconds === null'
get GET "/api/v1/flamegraph.json?query=cpu&$new"
check "CPU time was sampled for less" js 'd.memlens.watched_seconds === 393'
get GET "/api/v1/flamegraph.json?query=inuse_space&$new"
check "of memory it is not said" js 'd.memlens.watched_seconds === undefined'
exit $bad
