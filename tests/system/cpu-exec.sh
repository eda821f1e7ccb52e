#!/bin/bash
# A process that executes another program keeps its pid and start time; its
# code is another's.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin bash -c 'e=$((SECONDS + 3)); while ((SECONDS < e)); do :; done
	exec "$0" 20' "$busy"
"$driver" -s 1000 -n 8 >"$out" 2>"$dir/err"
need_attached "$out"
before=$(samples "$out" 'process=bash}')
after=$(samples "$out" 'process=cpu_busy};.*round_of_work;heavy;spin')
wrong=$(samples "$out" 'process=cpu_busy};.*execute_command')
expect "sampled before the exec" "$before" "$before" -gt 20
expect "named after the exec" "$after" "$after" -gt 20
expect "no name of the old program" "$wrong" "$wrong" = 0
