#!/bin/bash
# A process that executes another program keeps its pid and start time; its
# code is another's.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
shell=shell_$tag
own "$(command -v bash)" shell
# It rests before: a sample that the profiler comes to see when the process
# has its new name has that name, with the old program's stack.
mkfifo "$dir/nothing"
begin "$dir/$shell" -c 'until [ -e "$1" ]; do :; done
	read -r -t 2 <>"$2"
	exec "$0" 600' "$busy" "$dir/go" "$dir/nothing"
begin_driver -s 1000
before() { at_least 30 "process=$shell}"; }
after() { at_least 30 "process=$busy_name};.*round_of_work;heavy;spin"; }
seen before
touch "$dir/go"
seen after
end_driver
before=$(samples "$out" "process=$shell}")
after=$(samples "$out" "process=$busy_name};.*round_of_work;heavy;spin")
wrong=$(samples "$out" "process=$busy_name};.*execute_command")
expect "sampled before the exec" "$before" "$before" -gt 20
expect "named after the exec" "$after" "$after" -gt 20
expect "no name of the old program" "$wrong" "$wrong" = 0
