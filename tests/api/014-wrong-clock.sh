#!/bin/bash
# The daemon's clock goes three years ahead for six seconds, and back: nothing
# that was acknowledged is lost, health says the jump, and knows also now,
# where the newest slot is of the future, whether anybody writes.
. tests/api/lib
. tests/api/stack
! sanitized || { echo "skip - a preloaded clock: sanitizers come first"; exit 77; }
RETAIN=1d
SLOT=1s
export WRONG_CLOCK=$T/ahead
set_clock() { node -e '
	const b = Buffer.alloc(8);
	b.writeBigInt64LE(BigInt(process.argv[2]));
	require("fs").writeFileSync(process.argv[1], b, {flag: "r+"});' "$WRONG_CLOCK" "$1"; }
head -c 8 /dev/zero >"$WRONG_CLOCK"
PRELOAD=$B/api/wrong_clock.so
start_stack
printf 'main;work 7\n' >"$T/push"
at=$(date +%s)
taken=0
push() {
	now=$(date +%s)
	put "$T/push" "/ingest?name=app&from=$((now - 1))&until=$now&format=folded&units=samples"
	! status 200 || taken=$((taken + 1))
}
for i in $(seq 20); do push; done
health() { get GET /api/v1/health; js "$1"; }
says() { health "$1"; }
check "pushes are taken" test $taken = 20
check "the collector lives" await 30 says 'd.status !== "down"'
set_clock 94608000
end=$((SECONDS + 6))
while [ $SECONDS -lt $end ]; do push; sleep 0.2; done
check "health says the jump" await 30 says '/the clock has jumped by 9460800\d s/.test(d.reason)'
set_clock 0
check "and that back" await 30 says '/the clock has jumped by -946079\d\d s|the clock has jumped by -94608000 s/.test(d.reason)'
push
total() { [ "$(counted 'cpu{service="app"}' $((at - 5)) $(($(date +%s) + 5)))" = $((taken * 7)) ]; }
check "what was acknowledged is there ($taken)" await 30 total
check "the collector is not down" health 'd.status !== "down" && d.store.until > d.now + 1e6'
kill -STOP "$daemon"
check "stopped it is, whatever the newest slot" await 120 says 'd.status === "down" && /writes nothing/.test(d.reason)'
kill -CONT "$daemon"
check "and no more when it goes on" await 120 says 'd.status !== "down"'
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
check "killed it is down" await 120 says 'd.status === "down" && /no collector is running/.test(d.reason)'
check "and all is there still" total
exit $bad
