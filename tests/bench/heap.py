#!/usr/bin/env python3
"""Writes a heap_v2 dump of N random stacks of 8 to 40 frames.

    heap.py N BINARY [ADDRESSES]
    heap.py N BINARY COUNT LEAST MOST

Addresses are file offsets of BINARY, one hexadecimal number a line, or
60,000 random ones; BINARY need not exist.  100,000 stacks are about 41 MB.
The second form has COUNT random addresses and LEAST to MOST frames a stack.
"""
import random
import sys

BASE = 0x555555554000


def main():
    n, binary = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(7)
    least, most = 8, 40
    if len(sys.argv) > 4:
        count, least, most = map(int, sys.argv[3:6])
        offsets = [rng.randrange(0x1000, 0x9000000) for _ in range(count)]
    elif len(sys.argv) > 3:
        with open(sys.argv[3]) as f:
            offsets = [int(line, 16) for line in f]
    else:
        offsets = [rng.randrange(0x1000, 0x900000) for _ in range(60000)]
    # where a call returns to is behind it
    texts = [hex(BASE + o + 1) for o in offsets]
    out = ["heap_v2/524288\n  t*: 100: 1000 [0: 0]\n"]
    for _ in range(n):
        frames = rng.choices(texts, k=rng.randint(least, most))
        count = rng.randint(1, 50)
        size = count * rng.randint(16, 65536)
        out.append(f"@ {' '.join(frames)}\n  t*: {count}: {size} [0: 0]\n"
                   f"  t0: {count}: {size} [0: 0]\n")
    out.append(f"\nMAPPED_LIBRARIES:\n{BASE:x}-{BASE + (1 << 30):x} r-xp "
               f"00000000 08:01 1 {binary}\n")
    sys.stdout.writelines(out)


main()
