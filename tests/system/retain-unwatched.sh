#!/bin/bash
# Services that no rule names have a shorter retention: what they had goes out
# of sealed files, what a rule names and the host's numbers stay.
. "$(dirname "$0")/daemon-lib.bash"
configure 100ms 100ms
sed -i 's/^reserve = 0/&\nretain-unwatched = 1s/' "$dir/conf"
printf '[service watched]\ncomm = ^kept$\n' >>"$dir/conf"
for name in kept passing; do
	cp "$(command -v sleep)" "$dir/$name"
	begin "$dir/$name.log" "$dir/$name" 1000
done

export_of() { # SELECTOR [FROM UNTIL]: blocks
	rm -f "$dir/out"
	"$BUILD/memlens" export "$dir/store" "${2:-now-1h}" "${3:-now}" \
		"$dir/out" "$1" >"$dir/export.log" 2>&1
	python3 tests/system/mlb.py "$dir/out" 2>/dev/null
}
blocks() { export_of "$@" | wc -l; }
of() { echo "namedprocess_namegroup_num_procs{service=\"$1\"}"; }
sealed() { ls "$dir/store" | grep -q '^span-'; }
has_both() {
	[ "$(blocks "$(of passing)")" -gt 0 ] &&
		[ "$(blocks "$(of watched)")" -gt 0 ]
}
marks() {
	python3 tests/system/mlb.py "$dir/rec" facts 2>/dev/null |
		sed -n 's/.*slots until \([0-9]*\) by retain-unwatched.*/\1/p'
}
# What has gone until some slot, in which something was read already: on a busy
# host the first ones are empty.
marked() {
	until=$(marks | tail -n 1)
	[ -n "$until" ] && [ "$(blocks node_load1 0 "$until")" -gt 0 ]
}

start_daemon d -s "$dir/store" -w "$dir/rec"
daemon=$last
expect_true "both services are measured" await 120 has_both
await 120 sealed || not_ok "a journal is sealed" "$(cat "$dir/d.log")"
expect_true "what has gone is a mark" await 120 marked
expect "of a service without a rule nothing is left until then" \
	"$(blocks "$(of passing)" 0 "$until")" 0
expect_true "what a rule names is there" \
	[ "$(blocks "$(of watched)" 0 "$until")" -gt 0 ]
expect_true "and the host's numbers" \
	[ "$(blocks node_load1 0 "$until")" -gt 0 ]
newer() { [ "$(blocks "$(of passing)" "$((until + 1))" now)" -gt 0 ]; }
expect_true "what is newer stays" await 120 newer
end "$daemon"
expect "the daemon ends well" "$status" 0
expect_text "the store is clean" "$("$BUILD/memlens" verify "$dir/store")" clean
