#!/bin/bash
# kill -9 of the symbols child in every slot: profiles go on, names return.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin_busy 600
begin_driver -s 1000

# another child than the last one
dead=0
child_is_there() {
	child=$(awk '/^child [1-9]/ { p = $2 } END { print p + 0 }' "$out")
	[ "$child" -gt 0 ] && [ "$child" != $dead ] &&
		kill -9 "$child" 2>/dev/null
}
killed=0
for _ in 1 2 3 4; do
	seen child_is_there || break
	dead=$child killed=$((killed + 1))
done
need_attached "$out"
expect "children were killed" "$killed" "$killed" -eq 4
restarts() {
	awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
		END { print n + 0 }' "$out"
}
all_counted() { [ "$(restarts)" -ge $killed ]; }
seen all_counted
restarts=$(restarts)
expect "each death is counted" "$restarts of $killed" \
	"$restarts" -ge "$killed"
from=$(awk '/^block / { s = $2 } END { print s + 1 }' "$out")
named() {
	awk -v from="$from" -v s="$busy_name" '/^stack / && $2 > from &&
		$3 == s && /;heavy;spin[ ;]/ { n += $NF } END { print n + 0 }' \
		"$out"
}
names_are_back() { [ "$(named)" -gt 10 ]; }
seen names_are_back
end_driver
named=$(named)
expect "names are back" "$named behind slot $from" "$named" -gt 10
# The last slots are cut.
gaps=$(awk '/^stack / { if (last && $2 > last + 1) n++; last = $2 }
	END { print n + 0 }' "$out")
expect "no slot is without a profile" "$gaps gaps" "$gaps" = 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
