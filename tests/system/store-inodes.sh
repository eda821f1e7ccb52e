#!/bin/bash
# The file system of the store has no inode left: health says it, the log says
# it once, what was acknowledged is there, and with inodes it goes on.
. tests/api/lib
. tests/api/stack
[ "$(id -u)" = 0 ] || { echo "skip - no inodes: needs root"; exit 77; }
mkdir "$T/store"
mount -t tmpfs -o size=64m,nr_inodes=40 none "$T/store" 2>/dev/null || {
	echo "skip - no inodes: tmpfs cannot be mounted here"; exit 77; }
trap 'umount -l "$T/store"; stop_stack' EXIT
SLOT=200ms
STORE_LINES="reserve = 0"
start_stack
printf 'main;work 7\n' >"$T/push"
at=1700000000
taken=0
push() {
	put "$T/push" "/ingest?name=app&from=$at&until=$((at + 1))&format=folded&units=samples"
	! status 200 || taken=$((taken + 1))
}
says() { get GET /api/v1/health; js "$1"; }
errors() { grep -c "No space left" "$T/memlensd.log"; }
total() { [ "$(counted 'cpu{service="app"}' $at $((at + 1)))" = $((taken * 7)) ]; }
for i in $(seq 10); do push; done
check "pushes are taken" test $taken = 10
i=0
while touch "$T/store/ballast-$((i++))" 2>/dev/null; do :; done
full() { push; says 'd.status === "degraded" && d.store.state === "full"'; }
check "health says it" await 40 full
check "and of what there is none" js '/no inode left/.test(d.reason)'
end=$((SECONDS + 5))
while [ $SECONDS -lt $end ]; do push; sleep 0.1; done
said=$(errors)
sleep 5
check "the log says it once ($(errors))" test "$(errors)" -le $((said > 3 ? 3 : said))
check "what was acknowledged is there ($taken)" await 60 total
rm -f "$T"/store/ballast-*
check "with inodes it goes on" await 40 says 'd.store.state === "ok"'
before=$taken
push
check "and takes pushes" test $taken -gt $before
check "all are there" await 60 total
kill "$daemon"
wait "$daemon"
daemon=
check "also for who comes later" total
check "and the store is whole" "$B/memlens" verify "$T/store"
exit $bad
