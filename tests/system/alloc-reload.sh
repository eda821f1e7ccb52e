#!/bin/bash
# A reload that changes nothing of how memory is sampled keeps the stacks of
# what is in use: all slots have it, and none calls it what lived before.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
chmod 755 "$dir"
program=ar_${dir##*.}
program=${program:0:15}
cat >"$dir/hold.c" <<'END'
#include <stdlib.h>
#include <unistd.h>

void *volatile sink;

__attribute__((noinline)) void
holds(void)
{
	for (int i = 0; i < 40; i++)
		sink = malloc(3000000);
	__asm__ volatile("");
}

int
main(void)
{
	holds();
	sleep(300);
}
END
gcc -O1 -g -fno-builtin -o "$dir/$program" "$dir/hold.c" || exit 1
configure 1s
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
if said "$dir/d.log" "alloc_space: *not attached"; then
	echo "skip - $(grep alloc_space "$dir/d.log")"
	exit 77
fi
begin "$dir/said" "$BUILD/memlens" run -- "$dir/$program"
# SLOT BYTES FRAMES of what it has in use, and of each slot
cat >"$dir/in_use.py" <<'END'
import sys

sys.path.insert(0, 'tests/system')
import mlb

for payload in mlb.whole(open(sys.argv[1], 'rb').read()):
    batch = mlb.Batch(payload)
    for series, slot, block in batch.blocks:
        if (series['name'] != 'inuse_space' or
                series['labels'].get('service') != sys.argv[2]):
            continue
        for node, value in block['entries']:
            frames = []
            while batch.nodes[node][0] != 0:
                node, edge = batch.nodes[node]
                frames.append(batch.frames[edge][1] or '?')
            print(slot, value, ';'.join(frames))
END
in_use() { python3 "$dir/in_use.py" "$dir/rec" "$program"; }
# held SLOTS : of so many slots all of it by its stack
held() { [ "$(in_use | awk '/;holds;/ && $2 > 110e6' | wc -l)" -ge "$1" ]; }
expect_true "it is seen" await 60 held 2
for i in 1 2; do
	printf "[service nobody$i]\ncomm = ^nobody$i\$\n" >>"$dir/conf"
	kill -HUP "$d"
	reloaded() { [ "$(grep -c "configuration reloaded" "$dir/d.log")" = $i ]; }
	await 60 reloaded
	sleep 1.5
done
expect_true "the reloads are seen" await 60 held 6
said=$(in_use)
expect "nothing began anew" "$(grep -F "[before" <<<"$said")" ""
expect "no slot lacks it" "$(awk '/;holds;/ { if (n++ && $1 != s + 1)
	print $1; s = $1 }' <<<"$said")" ""
expect "all slots have all of it" "$(awk '/;holds;/ { print $2 }' <<<"$said" |
	sort -u | wc -l)" 1
end "$d"
expect "status" "$status" 0
