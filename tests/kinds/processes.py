"""Programs and all that they have begun.

    python3 processes.py WHAT NAME=PID...

WHAT: stop, cpu, cont or kill.  Prints a line for each: NAME, its CPU time so far in
ticks (what /proc says of it, of all below it and of the children that have
ended), the number of such readings, each of which is cut to a tick, and PIDs
that live.  `stop` has stopped them all before it reads.
"""
import os
import signal
import sys


def stat(pid):
    """Its parent and four times: its own and its ended children's."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii',
                  errors='replace') as f:
            text = f.read()
    except OSError:
        return None
    fields = text[text.rindex(')') + 2:].split()
    return int(fields[1]), [int(t) for t in fields[11:15]]


def trees(roots):
    """pid: its root, of all that are below one."""
    parents = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit() and (s := stat(int(entry))):
            parents[int(entry)] = s[0]
    of = {pid: pid for pid in roots if pid in parents}
    more = True
    while more:
        more = False
        for pid, parent in parents.items():
            if parent in of and pid not in of:
                of[pid] = of[parent]
                more = True
    return of


def signal_all(roots, number):
    """Until there is nobody new: a stopped one begins no other."""
    done = set()
    while True:
        new = sorted(set(trees(roots)) - done)
        if not new:
            return
        for pid in new:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        done.update(new)


def main(what, *pairs):
    names = {int(p): n for n, p in (pair.split('=') for pair in pairs)}
    if what == 'kill':
        # Children first have no parent that could begin others.
        signal_all(names, signal.SIGSTOP)
        for pid in trees(names):
            os.kill(pid, signal.SIGKILL)
        return
    if what == 'cont':
        signal_all(names, signal.SIGCONT)
        return
    if what == 'stop':
        signal_all(names, signal.SIGSTOP)
    of = trees(names)
    for root, name in names.items():
        pids = sorted(p for p, r in of.items() if r == root)
        times = [t for p in pids if (s := stat(p)) for t in s[1]]
        print(name, sum(times), sum(t > 0 for t in times),
              ','.join(map(str, pids)))


main(*sys.argv[1:])
