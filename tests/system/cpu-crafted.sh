#!/bin/bash
# Running programs whose symbols, unwind rows and section headers are
# nonsense: at most the symbols child ends, profiles go on, and the program
# beside them keeps its names.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
cat >"$dir/craft.py" <<'END'
"""craft.py PROGRAM FOLDER NAME: copies of a program, each damaged where it does
not matter to its running."""
import os
import random
import struct
import sys

data = open(sys.argv[1], 'rb').read()
shoff, = struct.unpack_from('<Q', data, 40)
size, n, names = struct.unpack_from('<HHH', data, 58)
heads = [struct.unpack_from('<IIQQQQIIQQ', data, shoff + i * size)
         for i in range(n)]
strings = data[heads[names][4]:][:heads[names][5]]
sections = {strings[h[0]:strings.index(b'\0', h[0])].decode(): h
            for h in heads}


def write(change):
    copy = bytearray(data)
    change(copy)
    # short, unlike all others in the machine
    number = len(os.listdir(sys.argv[2]))
    with open(f'{sys.argv[2]}/{sys.argv[3]}{number:02}', 'wb') as f:
        f.write(copy)


def noise(section, seed):
    def change(copy):
        r = random.Random(seed)
        _, _, _, _, at, length, *_ = sections[section]
        for i in range(at + 16, at + length):
            if r.random() < 0.3:
                copy[i] = r.randrange(256)
    return change


def heads_of(values):
    def change(copy):
        for i in range(1, n):
            for place, value in values.items():
                struct.pack_into('<Q', copy, shoff + i * size + place, value)
    return change


def elf_head(place, fmt, value):
    return lambda copy: struct.pack_into(fmt, copy, place, value)


for name in ('.eh_frame', '.eh_frame_hdr', '.symtab', '.strtab',
             '.note.gnu.build-id'):
    for seed in range(2):
        write(noise(name, seed))
write(heads_of({32: (1 << 63) - 1}))
write(heads_of({32: 1 << 40}))
write(heads_of({24: (1 << 64) - 64}))
write(heads_of({56: 1}))
write(elf_head(40, '<Q', (1 << 64) - 8))
write(elf_head(60, '<H', 65535))
END
mkdir "$dir/crafted"
python3 "$dir/craft.py" "$busy" "$dir/crafted" \
	"craft_$tag" || { not_ok "crafts"; exit 1; }
chmod 755 "$dir"/crafted/*
begin_busy 600
for f in "$dir"/crafted/*; do begin nice -n 5 "$f" 600; done
missing() {
	local f
	for f in "$dir"/crafted/*; do
		at_least 1 "process=${f##*/}[,}]" || echo "${f##*/}"
	done
}
all_there() {
	[ -z "$(missing)" ] && at_least 30 " $busy_name .*;heavy;spin[ ;]"
}
sample_until all_there -h 997 -s 1500
expect "the profiler ends well" "status $status" $status = 0
missing=$(missing | xargs)
expect "each damaged program is sampled" "not $missing" -z "$missing"
named=$(samples "$out" " $busy_name .*;heavy;spin[ ;]")
expect "the whole one keeps its names" "$named samples" "$named" -gt 20
restarts=$(awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
echo "# the symbols child ended $restarts times"
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
