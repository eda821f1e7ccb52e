#!/bin/bash
# The daemon has no file descriptor left: pushes are refused with 503, health
# says why at once, the log once, and what was acknowledged is there.
. tests/api/lib
. tests/api/stack
[ "$(id -u)" = 0 ] || { echo "skip - no descriptors: needs root"; exit 77; }
SLOT=200ms
start_stack
printf 'main;work 7\n' >"$T/push"
at=1700000000
taken=0 refused=0 other=0
push() {
	put "$T/push" "/ingest?name=app&from=$at&until=$((at + 1))&format=folded&units=samples"
	if status 200; then taken=$((taken + 1))
	elif status 503; then refused=$((refused + 1))
	else other=$((other + 1)); fi
}
says() { get GET /api/v1/health; js "$1"; }
words() { grep -ci "$1" "$T/memlensd.log"; }
total() { [ "$(counted 'cpu{service="app"}' $at $((at + 1)))" = $((taken * 7)) ]; }
for i in $(seq 10); do push; done
check "pushes are taken" test $taken = 10
limit=$(prlimit --pid "$daemon" --nofile --noheadings --output SOFT)
# as few as are open, and all that come
prlimit --pid "$daemon" --nofile=1:"$limit"
few() { push; says 'd.status === "degraded" && /descriptor|open files/.test(d.reason)'; }
check "health says it" await 30 few
# who comes new is not heard; who was there already is
kill "$worker"
wait "$worker"
run_worker -c "$T/fcgi.conf"
refused=0 other=0
push # each waits for its answer
check "pushes are refused with 503 ($refused, $other)" test $refused -gt 0 -a $other = 0
sleep 10
# of what is taken, and of the store's own work
check "the log says it once ($(words "too few file descriptors"), $(words "too many open files"))" \
    test "$(words "too few file descriptors")" -le 1 -a "$(words "too many open files")" -le 2
prlimit --pid "$daemon" --nofile="$limit:$limit"
check "with descriptors it goes on" await 150 says '!/descriptor|open files/.test(d.reason)'
before=$taken
push
check "and takes pushes" test $taken -gt $before
check "what was acknowledged is there, once ($taken)" await 60 total
kill "$daemon"
wait "$daemon"
daemon=
check "also for who comes later" total
exit $bad
