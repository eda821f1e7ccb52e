#!/bin/sh
# Beside a profile stands how much of the CPU time that the kernel counted it
# has; calibrate scales it to that, and says so.
. tests/api/lib
END=1700000000
start
without()
{
	! grep -q "$1" "$T/body"
}
ask() # QUERY FROM UNTIL MORE
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1")&from=$2&until=$3$4"
}
memlens()
{
	js "((m) => $1)(d.memlens)"
}
kv='cpu{service="kv"}'
ask "$kv" 1699998600 1699998700
check "of a service, what /proc counted of it" memlens '
    near(m.coverage, 0.6060606 / 0.8) && m.cpu_seconds === 0.8 &&
    m.calibrated === false && d.flamebearer.numTicks === 606060600'
ask "$kv" 1699998604 1699998693
check "of slots that are cut, their share by time" memlens '
    near(m.cpu_seconds, 0.8 * 89 / 100) && near(m.coverage,
    d.flamebearer.numTicks / 1e9 / m.cpu_seconds)'
ask "$kv" 1699998604 1699998607
check "of a part of one slot, too" memlens '
    near(m.cpu_seconds, 0.08 * 3 / 10)'
ask cpu 1699998600 1699998700
check "of the host, what its run queues did" memlens '
    near(m.coverage, 0.7070707) && m.cpu_seconds === 1'
ask 'cpu{service=~"k.|o.*"}' 1699998600 1699998700
check "of several services, theirs" memlens ' m.cpu_seconds === 0.8'
none='m.coverage === null && m.cpu_seconds === null && m.calibrated === false'
ask 'cpu{service="kv",pool="b"}' 1699998600 1699998700
check "of a pool nobody has counted any" memlens "$none"
ask 'cpu{service="odd"}' 1699998600 1699998700
check "of a service without figures of /proc none" memlens "$none"
ask 'wall{service="kv"}' 1699998600 1699998700
check "of another profile none" memlens "$none"
ask "$kv" 1699999520 1699999570
check "where there is no data none" memlens "$none"' && m.slots === 0'

# All amounts by one factor, so that they still add up; samples as they were.
ask "$kv" 1699998600 1699998700 '&calibrate=1'
check "calibrated, the sum is what the kernel counted" memlens '
    d.flamebearer.numTicks === 800000000 && m.calibrated === true &&
    near(m.coverage, 0.6060606 / 0.8) && m.total === 800000000'
check "each frame has its share, and they add up" js '
    JSON.stringify(d.flamebearer.levels) === JSON.stringify([
    [0,800000000,0,0], [0,800000000,0,1], [0,133333333,0,2,
    0,400000000,400000000,4, 0,266666667,266666667,5],
    [0,133333333,133333333,3]])'
check "samples are those that were taken" memlens '
    m.samples === 60 && m.total_samples === 60 && m.period === 10101010 &&
    JSON.stringify(m.sample_levels) === "[[60,0],[60,0],[10,0,30,30,20,20],[10,10]]"'
ask "$kv" 1699998600 1699998700 '&calibrate=1&focus=read'
check "before focus" memlens ' d.flamebearer.numTicks === 400000000'
ask 'cpu{service="odd"}' 1699998600 1699998700 '&calibrate=1'
check "without figures it is refused" status 422
check "and why" js 'd.field === "calibrate"'
# whether there is data or not: nobody counts pools
for pool in '="b"' '="none"' '!=""'; do
	ask "cpu{service=\"kv\",pool$pool}" 1699998600 1699998700 '&calibrate=1'
	check "of a pool$pool, too" status 422
done
ask "$kv" 1699999520 1699999570 '&calibrate=1'
check "where there is no data nothing is scaled" memlens 'm.slots === 0'
get GET "/api/v1/flamegraph.svg?query=$(enc "$kv")&from=1699998600&until=1699998700&calibrate=1"
check "a picture says that it is calibrated" grep -q \
	'CALIBRATED: scaled by 1.320 to the CPU time that' "$T/body"
get GET "/api/v1/flamegraph.svg?query=$(enc "$kv")&from=1699998600&until=1699998700"
check "others do not" without CALIBRATED
get GET "/api/v1/flamegraph.folded?query=$(enc "$kv")&calibrate=1"
check "what cannot say so has no such parameter" status 400
exit $bad
