#!/bin/bash
# Without rights the source says why, and nothing else ends.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
chmod 755 "$dir"
if [ "$(id -u)" = 0 ]; then
	cp "$driver" "$dir/driver" # the build may not be for all to read
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/driver" \
		>"$out" 2>"$dir/err"
else
	"$driver" >"$out" 2>"$dir/err"
fi
status=$?
expect "ends well" "status $status: $(cat "$dir/err")" "$status" = 0
if grep -q '^state 2 .*\(not permitted\|denied\).*CAP_' "$out"; then
	ok "not attached, and says which rights are missing"
else
	not_ok "not attached, and says which rights are missing" \
		"$(grep ^state "$out")"
fi
