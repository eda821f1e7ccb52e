#!/bin/bash
# A recording replayed into two new stores makes the same two stores; damage
# is skipped; no right is kept.
. "$(dirname "$0")/daemon-lib.bash"
configure 100ms 100ms
start_daemon live -s "$dir/live" -w "$dir/rec"
await 120 slots_are 72 "$dir/rec" # so that a file is sealed
end "$last"

# What the store's files hold.  Berkeley DB gives every file an id of its own
# and leaves gaps as they are, so its records are compared; in ids-N stands
# also when ids were taken.
dump=$(command -v db5.3_dump || command -v db_dump || echo "wc -c <")
contents() {
	(cd "$1" && for f in *; do
		case $f in
		lock) ;;
		ids-*) echo "$f $(stat -c %s "$f")" ;;
		*.mdb) echo "$f $(eval "$dump $f" | sha256sum)" ;;
		*) sha256sum "$f" ;;
		esac
	done)
}
for n in 1 2; do
	"$BUILD/memlensd" -f "$dir/conf" -s "$dir/again$n" -r "$dir/rec" \
		>"$dir/replay$n.log" 2>&1
	expect "replay $n: status" $? 0
done
batches=$(sed -n 's/.*: \([0-9]*\) batches replayed, 0 damaged.*/\1/p' "$dir/replay1.log")
expect_true "all batches are replayed" [ "${batches:-0}" -ge 64 ]
expect_true "a file is sealed" [ "$(ls "$dir/again1" | wc -l)" -gt 3 ]
expect "two replays, the same store" "$(contents "$dir/again1")" "$(contents "$dir/again2")"

# The same file into the same store: every batch is known by its id.
"$BUILD/memlensd" -f "$dir/conf" -s "$dir/again1" -r "$dir/rec" -w "$dir/rec2" \
	>"$dir/replay3.log" 2>&1
expect "replaying twice into one store: status" $? 0

# -k stays, with the socket, until a signal.
begin "$dir/keep.log" "$BUILD/memlensd" -f "$dir/conf" -s "$dir/again3" -r "$dir/rec" -k
keep=$last
await 60 said "$dir/keep.log" "batches replayed"
expect_true "-k: it stays, with its socket" await 60 [ -S "$dir/sock" ]
expect "no capability is kept" \
	"$(sed -n 's/^CapEff:\t//p' /proc/"$keep"/status)" 0000000000000000
end "$keep"
expect "-k: ends with status" "$status" 0

# Damage: a byte in the middle, a lost header, a cut end.
python3 - "$dir/rec" "$dir/broken" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
at = [i for i in range(len(data)) if data[i:i + 4] == b'MLB1']
data[at[3] + 40] ^= 255
data[at[9]:at[9] + 4] = b'XXXX'
open(sys.argv[2], 'wb').write(data[:-10])
END
"$BUILD/memlensd" -f "$dir/conf" -s "$dir/damaged" -r "$dir/broken" >"$dir/damaged.log" 2>&1
expect "a damaged recording: status" $? 0
expect_text "damage is counted, the rest replayed" "$(cat "$dir/damaged.log")" \
	": $((batches - 3)) batches replayed, 3 damaged places skipped"
: >"$dir/empty"
"$BUILD/memlensd" -f "$dir/conf" -s "$dir/none" -r "$dir/empty" >"$dir/empty.log" 2>&1
expect "an empty recording: status" $? 1
expect_text "an empty recording: message" "$(cat "$dir/empty.log")" "holds no batch"
