"""procfs-reader.py OUT SECONDS WORD [SLOT]: an independent reader of /proc.
Waits for the start of a slot (of so many seconds, 1), then sums what the processes whose command line
holds WORD have used, SECONDS later again; writes both as JSON."""
import glob
import json
import sys
import time


def processes(word):
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            line = open(path, 'rb').read().split(b'\0')
        except OSError:
            continue
        if any(word.encode() in a for a in line) and b'python' in line[0] \
                and not any(b'procfs-reader' in a for a in line):
            yield path.rsplit('/', 1)[0]


def read(folder):
    stat = open(folder + '/stat').read().rsplit(')', 1)[1].split()
    io = dict(line.split(': ') for line in open(folder + '/io'))
    status = dict(line.split(':', 1) for line in open(folder + '/status'))
    return {'user': int(stat[11]) / 100, 'system': int(stat[12]) / 100,
            'minor': int(stat[7]), 'major': int(stat[9]),
            'read': int(io['read_bytes']), 'write': int(io['write_bytes']),
            'voluntary': int(status['voluntary_ctxt_switches']),
            'nonvoluntary': int(status['nonvoluntary_ctxt_switches']),
            'resident': int(status['VmRSS'].split()[0]) * 1024}


def total(word):
    out, n, began = {}, 0, time.time()
    for folder in processes(word):
        n += 1
        for k, v in read(folder).items():
            out[k] = out.get(k, 0) + v
    return {'processes': n, 'began': began, 'time': time.time(), **out}


slot = int(sys.argv[4]) if len(sys.argv) > 4 else 1
time.sleep(slot - time.time() % slot)
first = total(sys.argv[3])
time.sleep(int(sys.argv[2]) - time.time() % 1)
json.dump([first, total(sys.argv[3])], open(sys.argv[1], 'w'))
