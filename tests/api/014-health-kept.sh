#!/bin/sh
# What a worker keeps for the next question about health is the same answer,
# damage included, and none once something was written.
. tests/api/lib
export ASAN_OPTIONS=detect_leaks=0 # a handle of Berkeley DB that met damage
END=$(($(date +%s) + 60))
fill
same()
{
	sed 's/"now":[0-9.]*//' "$T/body" >"$T/same.$1"
	[ "$1" = 1 ] || cmp -s "$T/same.1" "$T/same.$1"
}
run_worker -j 1
for i in 1 2 3; do
	get GET /api/v1/health
	check "question $i has the same answer" same $i
done
kill $worker
wait $worker 2>/dev/null
file=$(ls "$T"/store/span-* | tail -n 1)
size=$(wc -c <"$file")
dd if=/dev/urandom of="$file" bs=4096 seek=2 count=$((size / 4096 - 3)) \
    conv=notrunc 2>/dev/null
run_worker -j 1
for i in 1 2 3; do
	get GET /api/v1/health
	check "question $i says that there is damage" \
	    js 'd.store.damaged === 1 && /damaged files/.test(d.reason)'
done
exit $bad
