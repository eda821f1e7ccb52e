"""What busy.sh asks of a recording:

    python3 busy.py RECORDING LOADED DATABASE...

LOADED is when the load began, in seconds: of a database only slots count that
begin three seconds after it or later.  DATABASE is the name of a program.
Prints "NAME NUMBER" lines, and for people lines that begin with "#".

A stack is whole when it leads from where its thread began: from the code
that starts a program or a thread.  One that does not must bear a mark, a
frame of kind 8.  A thread whose memory is gone, since it ends or executes
another program, has no user stack: what is marked so, with kernel frames that
say it, is whole, and counted by itself ("ending").
"""
import collections
import re
import struct
import sys
sys.path.insert(0, 'tests/system')
import mlb  # noqa: E402

MARK = 8
# One of a stack's first three frames: who runs main, a thread's function or
# the loader; the C library's has no name before its symbols are read.
# Go begins its goroutines and threads, and the stacks of its runtime, by
# functions of its own.
ROOT = re.compile(r'^(_start|_dl_start|_dl_init|__libc_start_main.*|'
                  r'__libc_start_call_main|(__GI_)?_*clone3?|'
                  r'start_thread|main|ret_from_fork.*|'
                  r'runtime\.(goexit|mstart|mcall|morestack|rt0_go|'
                  r'systemstack|asmcgocall)(\.abi0)?|'
                  r'(libc|ld-linux-x86-64)\.so\.\d\+0x.*)$')
ENDING = '[no user memory]'
ENDS = re.compile(r'^(do_exit|do_group_exit|bprm_execve|'
                  r'do_execveat_common.*|begin_new_exec|load_elf_binary)$')
OTHERS = '(exited)'


def payloads(path):
    with open(path, 'rb') as f:
        while True:
            head = f.read(16)
            if len(head) < 16:
                return
            n = struct.unpack('>I', head[4:8])[0]
            data = f.read(n)
            if len(data) == n:
                yield data


class Stacks:
    """Root first: the labels, and the frames of a node."""
    def __init__(self, batch):
        self.batch, self.known = batch, {}

    def of(self, node):
        found = self.known.get(node)
        if found is None:
            parent, edge = self.batch.nodes[node]
            if parent == 0:
                found = (self.batch.labels[edge], ())
            else:
                labels, frames = self.of(parent)
                found = (labels, frames + (self.batch.frames[edge],))
            self.known[node] = found
        return found


def judge(frames):
    """'whole', ENDING, the mark, or '' when there is none of these."""
    marks = [f[1] for f in frames if f[0] == MARK]
    if marks == [ENDING] and any(ENDS.match(f[1]) for f in frames):
        return ENDING
    if marks:
        return marks[0]
    return 'whole' if any(ROOT.match(f[1]) for f in frames[:3]) else ''


def main():
    loaded, names = float(sys.argv[2]), sys.argv[3:]
    judged = {n: collections.Counter() for n in names}
    early = {n: collections.Counter() for n in names}
    odd = collections.Counter()
    marks = collections.Counter()
    counters = collections.Counter()
    rates, total, exited, maps, ending = [], 0, 0, 0, 0
    slots = set()
    for payload in payloads(sys.argv[1]):
        batch = mlb.Batch(payload)
        stacks = Stacks(batch)
        for series, slot, block in batch.blocks:
            name, labels = series['name'], series['labels']
            start = slot * batch.slot_ns / 1e9
            late = start >= loaded + 2.5
            if series['kind'] == 'gauge' and late and \
                    name == 'memlens_profile_rate_hertz':
                rates.append((block['sum'] / block['count'] /
                              10 ** series['scale'],
                              block['min'] / 10 ** series['scale']))
            if name == 'memlens_bpf_maps_bytes' and late:
                maps = max(maps, block['max'] // 10 ** series['scale'])
            if series['kind'] == 'counter' and late and \
                    series['labels'].get('source') == 'cpu' and \
                    name.startswith('memlens_profile_'):
                counters[name] += block['increase']
                if name == 'memlens_profile_runs_total':
                    slots.add(slot)
            if series['kind'] != 'flow' or name != 'cpu':
                continue
            for node, value in block['entries']:
                of, frames = stacks.of(node)
                said = judge(frames)
                if said == ENDING:
                    ending += value if late else 0
                    said = 'whole'
                if late:
                    total += value
                    marks[said or 'unmarked'] += value
                    if labels.get('service') == OTHERS:
                        exited += value
                process = of.get('process') or labels.get('service')
                if process not in judged:
                    if late and not said:
                        odd[process, '', ';'.join(
                            f[1] for f in frames[:3])] += value
                    continue
                (judged if late else early)[process][said] += value
                if late and said != 'whole':
                    odd[process, said, ';'.join(
                        f[1] for f in frames)[:300]] += value
    report(judged, early, odd, marks)
    print('all', total)
    print('exited', exited)
    print('ending', ending)
    print('unmarked_host', marks['unmarked'])
    print('maps_kb', maps // 1024)
    print('broken', total - marks['whole'] - marks['unmarked'])
    print('lost', counters['memlens_profile_samples_lost_total'])
    print('rate', round(sum(r[0] for r in rates) / len(rates), 3))
    print('rate_least', min(r[1] for r in rates))
    seconds = len(slots) * batch.slot_ns / 1e9
    cpus = len(re.findall('^processor', open('/proc/cpuinfo').read(), re.M))
    print('ticks', round(counters['memlens_profile_runs_total'] / seconds /
                         cpus, 2))


def report(judged, early, odd, marks):
    every = collections.Counter()
    for name, by in judged.items():
        n = sum(by.values())
        print(f'samples_{name} {n}')
        print(f'whole_{name}', round(100 * by['whole'] / n, 3) if n else 0)
        print(f'unmarked_{name} {by[""]}')
        before = early[name]
        print(f'# {name}: {by["whole"]} of {n} whole;',
              ', '.join(f'{k or "unmarked"} {v}' for k, v in by.most_common()
                        if k != 'whole'), '; before:',
              f'{before["whole"]} of {sum(before.values())}')
        every += by
    print('samples', sum(every.values()))
    print('unmarked', every[''])
    print('# the host:', ', '.join(f'{k} {v}' for k, v in marks.most_common()))
    for (name, said, text), n in odd.most_common(60):
        print(f'# {n} {name} {said or "unmarked"}: {text}')


main()
