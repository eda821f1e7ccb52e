#!/bin/bash
# SIGHUP: a good file is taken, a bad one is not.  SIGUSR1: counters.
. "$(dirname "$0")/daemon-lib.bash"
# Ten readings a slot, so that a busy machine leaves none without any.
configure 1s 100ms
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
await 120 slots_are 2 "$dir/rec"
cp "$dir/conf" "$dir/good"
echo "[cpu]
rate = lots" >>"$dir/conf"
kill -HUP "$d"
expect_true "a bad file is refused" await 60 said "$dir/d.log" \
	"conf:[0-9]*: rate: .*; the old configuration stays"
more() { slots_are $((before + 2)) "$dir/rec"; }
before=$(slots "$dir/rec" | wc -l)
await 120 more
cp "$dir/good" "$dir/conf"
printf '[service renamed]\ncommand = /memlensd$\n' >>"$dir/conf"
kill -HUP "$d"
expect_true "a good one is taken" await 60 said "$dir/d.log" "configuration reloaded"
await 120 has "$dir/rec" 'num_procs{groupname="renamed"'
kill -USR1 "$d"
expect_true "counters are logged" await 60 said "$dir/d.log" "store: [0-9]* batches"
end "$d"
expect "status" "$status" 0
services() { mlb "$dir/rec" | sed -n 's/.*num_procs{groupname="\([a-z]*\)".*/\1/p' | sort -u; }
expect_text "before, its service is its command" "$(services)" "^memlensd$"
expect_text "after, the rule's" "$(services)" "^renamed$"
# A busy machine may have left one without a reading, but none was left out.
expect_text "no slot is lost" "$(cat "$dir/d.log")" "slots: 0 skipped; batches: 0 lost"
