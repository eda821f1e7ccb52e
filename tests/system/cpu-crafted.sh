#!/bin/bash
# Running programs whose symbols, unwind rows and section headers are
# nonsense: at most the symbols child ends, profiles go on, and the program
# beside them keeps its names.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
cat >"$dir/craft.py" <<'END'
"""craft.py PROGRAM FOLDER: copies of a program, each damaged where it does
not matter to its running."""
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


def write(name, change):
    copy = bytearray(data)
    change(copy)
    with open(f'{sys.argv[2]}/crafted_{name}', 'wb') as f:
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
        write(name.strip('.').replace('.', '_') + str(seed),
              noise(name, seed))
write('big', heads_of({32: (1 << 63) - 1}))
write('huge', heads_of({32: 1 << 40}))
write('outside', heads_of({24: (1 << 64) - 64}))
write('entries', heads_of({56: 1}))
write('noheads', elf_head(40, '<Q', (1 << 64) - 8))
write('manyheads', elf_head(60, '<H', 65535))
END
mkdir "$dir/crafted"
python3 "$dir/craft.py" "$busy" "$dir/crafted" || { not_ok "crafts"; exit 1; }
chmod 755 "$dir"/crafted/*
begin "$busy" 60
for f in "$dir"/crafted/*; do begin nice -n 15 "$f" 60; done
"$driver" -h 997 -s 1500 -n 5 >"$out" 2>"$dir/err"
status=$?
need_attached "$out"
expect "the profiler ends well" "status $status" $status = 0
missing=
for f in "$dir"/crafted/*; do
	name=${f##*/}
	[ "$(samples "$out" "process=${name:0:15}[,}]")" -gt 0 ] ||
		missing="$missing $name"
done
expect "each damaged program is sampled" "not$missing" -z "$missing"
named=$(samples "$out" ' cpu_busy .*;heavy;spin[ ;]')
expect "the whole one keeps its names" "$named samples" "$named" -gt 20
restarts=$(awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
echo "# the symbols child ended $restarts times"
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
