#!/usr/bin/env python3
"""Times two commands in turn, and prints what the median run of each took.

    flame_time.py RUNS OUTPUT 'COMMAND A' ['COMMAND B']

A, B, A, B ...: a machine that is busy is so for both.  The first pair warms
up and does not count.  Each line: wall seconds, CPU seconds, peak memory in
bytes, and bytes written to OUTPUT (truncated before each run), as medians of
each figure; then the medians of A / B, pair by pair.
"""
import os
import shlex
import sys
import time


def run(command, output):
    out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(out, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - begin
    size = os.fstat(out).st_size
    os.close(out)
    if status != 0:
        sys.exit(f"{command[0]} ended with status {status}")
    return (wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
            size)


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    runs, output = int(sys.argv[1]), sys.argv[2]
    commands = [shlex.split(text) for text in sys.argv[3:]]
    taken = [[run(c, output) for c in commands] for _ in range(runs + 1)][1:]
    for i in range(len(commands)):
        print(*(f"{median(column):.6g}"
                for column in zip(*(pair[i] for pair in taken))))
    if len(commands) == 2:
        print(*(f"{median([a / b for a, b in zip(one, two)]):.4g}"
                for one, two in zip(zip(*(p[0] for p in taken)),
                                    zip(*(p[1] for p in taken)))))


main()
