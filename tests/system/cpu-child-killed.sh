#!/bin/bash
# kill -9 of the symbols child in every slot: profiles go on, names return.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin "$busy" 30
begin bash -c '"$0" -s 1000 -n 9 >"$1" 2>"$2"' "$driver" "$out" "$dir/err"
driver_pid=$last
killed=0
for _ in 1 2 3 4; do
	sleep 1.3
	child=$(awk '/^child [1-9]/ { p = $2 } END { print p + 0 }' "$out")
	[ "$child" -gt 0 ] && kill -9 "$child" 2>/dev/null &&
		killed=$((killed + 1))
done
wait "$driver_pid"
need_attached "$out"
expect "children were killed" "$killed" "$killed" -ge 3
restarts=$(awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
expect "each death is counted" "$restarts of $killed" \
	"$restarts" -ge "$killed"
slots=$(awk '/^stack / && $3 == "cpu_busy" { s[$2] = 1 }
	END { print length(s) }' "$out")
expect "no slot is without a profile" "$slots slots" "$slots" -ge 9
final=$(awk '/^block / { s = $2 } END { print s - 2 }' "$out")
named=$(samples "$out" "^stack $final cpu_busy .*;heavy;spin[ ;]")
expect "names are back" "$named in slot $final" "$named" -gt 10
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
