"""Prints the stacks of a recording as it grows, one line each:

    python3 mlb-stacks.py FILE SECONDS [PATTERN...]

    SLOT SERVICE {LABELS};FRAME;FRAME... VALUE
    counter NAME INCREASE                           the profiler's own

Ends when each pattern, a regular expression, was found in some line, or when
the time is over; says on its standard error which were not found.
"""
import re
import struct
import sys
import time

import mlb


def payloads(f, end):
    """The records as they come; checksums are others' affair, and slow."""
    data = b''
    while True:
        more = f.read()
        data += more
        while len(data) >= 16:
            n = struct.unpack('>I', data[4:8])[0]
            if len(data) < 16 + n:
                break
            yield data[16:16 + n]
            data = data[16 + n:]
        if not more:
            if time.time() > end:
                return
            time.sleep(0.2)


def path(batch, node, known):
    if node not in known:
        parent, edge = batch.nodes[node]
        if parent == 0:
            labels = sorted(batch.labels[edge].items())
            text = ','.join(f'{k}={v}' for k, v in labels)
            known[node] = '{' + text + '}'
        else:
            known[node] = (path(batch, parent, known) + ';' +
                           (batch.frames[edge][1] or '?'))
    return known[node]


def main():
    wanted = [re.compile(p) for p in sys.argv[3:]]
    end = time.time() + float(sys.argv[2])
    with open(sys.argv[1], 'rb') as f:
        for payload in payloads(f, end):
            batch, known = mlb.Batch(payload), {}
            for series, slot, block in batch.blocks:
                if (series['kind'] == 'counter' and
                        series['labels'].get('source') == 'cpu' and
                        series['name'].startswith('memlens_profile_')):
                    print('counter', series['name'], block['increase'])
                if series['kind'] != 'flow' or series['name'] != 'cpu':
                    continue
                service = series['labels'].get('service', '')
                for node, value in block['entries']:
                    stack = path(batch, node, known)
                    line = f'{slot} {service} {stack} {value}'
                    print(line)
                    wanted = [p for p in wanted if not p.search(line)]
            if sys.argv[3:] and not wanted:
                break
    for p in wanted:
        print('not seen:', p.pattern, file=sys.stderr)


main()
