#!/bin/sh
# Wall time is CPU time and time off CPU, added as it is asked for; never CPU
# time alone.  Threads by their states.
. tests/api/lib
END=1700000000 SLOTS=80
WAITS=1
export WAITS
start
# 80 slots of 10 s, of which the slots 41 to 50 before the end are missing
new='from=1699999600&until=1700000000' old='from=1699999200&until=1699999500'
cpu_ns=30303030 lock_ns=4000000123 poll_ns=5999999999
tree()
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&$2"
}
total()
{
	tree "$1" "$new"
	node -e 'console.log(JSON.parse(require("fs").readFileSync(
	    process.argv[1])).flamebearer.numTicks)' "$T/body"
}
on=$(total 'cpu{service="mix"}')
off=$(total 'offcpu{service="mix"}')
tree 'wall{service="mix"}' "$new"
check "wall is cpu and offcpu to the nanosecond" js "
    d.flamebearer.numTicks === $on + $off &&
    $on === 40 * $cpu_ns && $off === 40 * ($lock_ns + $poll_ns) &&
    d.memlens.total === $on + $off && d.memlens.unit === 'nanoseconds' &&
    d.memlens.parts.cpu === $on && d.memlens.parts.offcpu === $off &&
    d.memlens.slots === 40 && d.memlens.whole_slots === 40 &&
    d.memlens.state === 'data' && d.memlens.why === ''"
check "each frame has both, and how much is off CPU" js "
    d.memlens.samples === 120 && d.memlens.samples_unknown === $off &&
    d.memlens.unknown_levels[1][0] === $off &&
    d.memlens.unknown_levels[2].join() ===
    [40 * $poll_ns, 40 * $poll_ns, 40 * $lock_ns, 0].join() &&
    d.flamebearer.levels[2].length === 8"
check "the threshold in force" js 'd.memlens.threshold_seconds.min === 0.001 &&
    d.memlens.threshold_seconds.max === 0.002'
tree 'lock{service="mix"}' "$new"
check "no wait for a lock is a stated zero, from the threshold on" js '
    d.flamebearer.numTicks === 0 && d.memlens.slots === 40 &&
    d.memlens.state === "zero" && d.memlens.threshold_seconds.min === 0.003'
check "and that there were waits for locks that it does not tell" js '
    /^offcpu has waits of the reason lock/.test(d.memlens.why)'
tree 'lock{service="mix"}' "$old"
check "which it is not where nobody looked" js '
    d.flamebearer.numTicks === 0 && d.memlens.slots === 0 &&
    d.memlens.threshold_seconds === null'
tree 'wall{service="mix",reason!~"poll|timer"}' "$new"
check "idle waits can be left out, CPU time stays" js "
    d.flamebearer.numTicks === $on + 40 * $lock_ns"
tree 'wall{service="mix"}' 'from=1699999605.5&until=1700000000'
check "slots that a range cuts are cut as in the parts" js "
    d.memlens.parts.cpu + d.memlens.parts.offcpu === d.memlens.total &&
    d.memlens.total < $on + $off"
tree 'wall{service="mix"}' "$old"
check "without offcpu it is no data, and how to start it" js '
    d.flamebearer.numTicks === 0 && d.memlens.slots === 0 &&
    d.memlens.state !== "data" && d.memlens.why !== ""'
for range in 'from=1600000000&until=1600000300' \
    'from=1800000000&until=1800000300'; do
	tree offcpu "$range"
	check "of what nobody keeps nobody says that it is off" js '
	    d.memlens.slots === 0 && d.memlens.state === "no data" &&
	    !/starts it/.test(d.memlens.why)'
done
tree 'wall{service="mix"}' 'from=1699999200&until=1700000000'
check "a part without offcpu is said" js 'd.memlens.slots === 70 &&
    d.memlens.whole_slots === 40 && /CPU time alone/.test(d.memlens.why)'
tree 'wall{service="odd"}' "$new"
check "nor of a service that has only CPU time" js '
    d.flamebearer.numTicks === 0 && d.memlens.slots === 0'
tree 'wall{service="kv"}' "$new"
check "what a service has pushed stays as it is" js '
    d.memlens.parts === undefined && d.flamebearer.names.join() ===
    "total,main"'
pushed=$(total 'wall{service="kv"}')
tree 'wall' "$new"
check "the host is both" js \
    "d.flamebearer.numTicks === $on + $off + $pushed"
get GET "/api/v1/table.json?query=$(enc 'wall{service="mix"}')&$new"
check "a table" js "d.rows.find((r) => r.name === 'work').self === $on"
get GET "/api/v1/flamegraph.folded?query=$(enc 'wall{service="mix"}')&$new"
check "folded stacks" grep -q "main;work;futex_wait.* $((40 * lock_ns))\$" \
    "$T/body"
get GET "/render?query=$(enc 'mix.wall')&$new&format=json"
check "Pyroscope's render" js "d.flamebearer.numTicks === $on + $off"
check "and its timeline" js "d.timeline.samples.some((v) => v > 10e9)"
get GET "/render?query=$(enc 'mix.wall')&from=1699999200&until=1700000000&format=json"
check "whose steps without offcpu are no data, not CPU time" js '((at) =>
    at(1699999250) === 0 && at(1699999900) > 4e9)((t) => d.timeline.samples[
    Math.floor((t - d.timeline.startTime) / d.timeline.durationDelta)])'
get GET "/api/v1/flamegraph.svg?query=$(enc 'wall{service="mix"}')&$old"
check "an empty picture says nothing of samples" sh -c \
    "! grep -q 'at least 0' '$T/body'"
get GET /api/v1/types
check "the type is there, with its parts and its idle waits" js '((t) =>
    t.present && t.parts.join() === "offcpu,cpu" &&
    t.idle.labels === "reason=~\"poll\"" &&
    t.idle.certain === "reason=~\"timer\"")(d.types.find((t) =>
    t.name === "wall"))'
get GET "/api/v1/services?$new"
check "a service with offcpu has wall" js '((list) => ["cpu", "offcpu",
    "wall"].every((t) => list.includes(t)))(d.services.find((s) =>
    s.name === "mix").profiles)'
get GET "/api/v1/services?$old"
check "one without has none" js '!d.services.find((s) =>
    s.name === "mix").profiles.includes("wall")'

q=$(enc 'thread_seconds_total{service="mix"}')
get GET "/api/v1/threads?query=$q&$new&step=40"
check "threads by state, as means of the recorded time" js '
    d.unit === "threads" && d.pools.length === 1 &&
    d.pools[0].labels.service === "mix" && d.pools[0].labels.state ===
    undefined && ((of) => of["on cpu"].seconds === 200 &&
    of["on cpu"].points.every((p) => p[1] === 0.5) &&
    of.lock.seconds === 300 && of.lock.points.every((p) => p[1] === 0.75))(
    Object.fromEntries(d.pools[0].states.map((s) => [s.state, s])))'
check "counts as /proc has them" js '
    d.counts.length === 1 && d.counts[0].points.every((p) => p[1] === 2)'
check "births and deaths; none is 0" js '
    d.pools[0].births === 20 && d.pools[0].deaths === 0'
get GET "/api/v1/threads?query=$q&$new&step=10"
check "0 is a state that others had" js '((of) => of.some((p) => p[1] === 0) &&
    of.some((p) => p[1] === 1.5))(d.pools[0].states.find((s) =>
    s.state === "lock").points)'
get GET "/api/v1/threads?query=$q&from=1699999200&until=1700000000&step=10"
check "null is no data" js 'd.pools[0].states.every((s) =>
    s.points[0][1] === null)'
get GET "/api/v1/threads?query=$q&$old&step=10"
check "so it is of births" js '[null, undefined].includes(
    d.pools[0]?.births)'
get GET "/api/v1/threads?query=$q&$new&step=40&by=pool,process"
check "by labels of stacks: waits as in the profile, CPU as sampled" js "
    d.pools.map((p) => p.labels.pool).join() === ',a' &&
    d.pools.every((p) => p.labels.service === 'mix' && p.births === null) &&
    d.sampled.join() === 'on cpu' && d.counts.length === 1 && ((of) => of['on cpu'].seconds ===
    40 * $cpu_ns / 1e9 && of.lock.seconds === 40 * $lock_ns / 1e9 &&
    of.poll.seconds === 40 * $poll_ns / 1e9 && of.poll.points.every((p) =>
    p[1] === $poll_ns / 1e10))(Object.fromEntries(d.pools.flatMap((p) =>
    p.states).map((s) => [s.state, s])))"
get GET "/api/v1/threads?query=$q&from=1699999200&until=1700000000&step=10&by=pool"
check "no data is null by labels, too" js 'd.pools[0].states.every((s) =>
    s.points[0][1] === null)'
get GET "/api/v1/threads?query=$q&$new&by=state"
check "a label that is none" js 'd.field === "by"'
get GET "/api/v1/threads?query=$(enc 'thread_seconds_total{state="lock"}')&$new&by=pool"
check "all states or none" js 'd.field === "query"'
get GET "/api/v1/threads?query=up&$new"
check "another metric is refused" js 'd.field === "query"'
exit $bad
