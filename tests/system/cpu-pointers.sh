#!/bin/bash
# Stacks by frame pointers, as `unwinder = frame-pointer` asks for: no tables
# are made, and nothing that walks by them is there to be asked.
. "$(dirname "$0")/daemon-lib.bash"
need_root "frame pointers"
name=pointers_$$
cp "$BUILD/system/cpu_busy" "$dir/$name"
cat >"$dir/conf" <<END
[store]
slot = 200ms
reserve = 0
[cpu]
rate = 997Hz
budget = 0%
unwinder = frame-pointer
[procfs]
enabled = no
[socket]
path = $dir/sock
END
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
said "$dir/d.log" "source cpu: attached" ||
	{ echo "skip - frame pointers: $(grep "source cpu" "$dir/d.log")"; exit 77; }
begin /dev/null "$dir/$name" 300
python3 tests/system/mlb-stacks.py "$dir/rec" 120 \
	"process=${name:0:15}[,}].*;pool_thread;work;round_of_work;heavy;spin " \
	>"$dir/stacks" 2>"$dir/unseen"
expect "stacks are walked by frame pointers" "$(cat "$dir/unseen")" ""
end "$d"
expect "the daemon ends well" "$status" 0
