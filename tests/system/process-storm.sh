#!/bin/bash
# Processes, threads and libraries come and go while the daemon samples: it
# goes on, takes bounded memory and descriptors, accounts for every sample,
# and names none by another process's functions.
. "$(dirname "$0")/daemon-lib.bash"
. "$(dirname "$0")/lib/storm.sh"
need_root "process storm"
seconds=${SECONDS_OF_TEST:-5}
storm_configure
storm_compile || { not_ok "compiles"; exit 1; }
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
said "$dir/d.log" "source cpu: attached" ||
	{ echo "skip - process storm: $(grep "source cpu" "$dir/d.log")"; exit 77; }
storm_begin "$seconds" 1000 500
storm_watch "$d" $((seconds + 1))
expect_true "the daemon goes on" kill -0 "$d"
expect_true "descriptors are bounded" test "$most_descriptors" -le 1000
for f in fork1 fork2 threads library; do
	expect_true "there is a storm of ${f%[12]}" await 120 grep -q " [1-9]" "$dir/$f"
done
# Those that live long enough to be looked at: a library of 5 ms does not.
python3 tests/system/mlb-stacks.py "$dir/rec" 240 \
	'process=mix_jail[,}].*;in_thread' 'process=mix_deleted[,}].*;in_thread' \
	'process=mix_leader[,}].*;in_thread' \
	'process=reuse_(first[,}].*;in_first|second[,}].*;in_second)' \
	>"$dir/stacks" 2>"$dir/unseen"
expect "a container, a deleted file, an ended first thread are seen" \
	"$(cat "$dir/unseen")" ""
for pair in "first second" "second first"; do
	expect "no sample of ${pair% *} is named by ${pair#* }, of the same pid" \
		"$(grep -c "process=reuse_${pair% *}[,}].*;in_${pair#* }" \
		"$dir/stacks")" 0
done
end "$d"
expect "it ends well" "$status" 0
storm_balance
expect "every sample is accounted for" "$unaccounted" 0
