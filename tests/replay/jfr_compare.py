#!/usr/bin/env python3
"""Folded stacks of a flight recording by another reader: jfr print.

    jfr_compare.py fold RECORDING.jfr       prints "TYPE TAB STACK TAB VALUE"
    jfr_compare.py check RECORDING MEMLENS [FOLDED]    compares with ours

The JDK's own reader says each event as JSON; what is a profile of it is what
fcgi/format/jfr/jfr.h says, times of samples in numbers of them.  FOLDED is
what it said before, where there is no JDK.
"""
import json
import re
import subprocess
import sys
from collections import Counter

EVENTS = {
    "jdk.ExecutionSample": ("cpu", None),
    "profiler.WallClockSample": ("wall", "samples"),
    "jdk.ObjectAllocationInNewTLAB": ("alloc_in_new_tlab", "tlabSize"),
    "jdk.ObjectAllocationOutsideTLAB": ("alloc_outside_tlab",
                                        "allocationSize"),
    "jdk.ObjectAllocationSample": ("alloc_sample", "weight"),
    "jdk.JavaMonitorEnter": ("mutex", "duration"),
    "jdk.ThreadPark": ("block", "duration"),
    "profiler.LiveObject": ("live", None),
}
MADE = re.compile(r"(\$\$Lambda|Generated(?:Method|Constructor)Accessor)"
                  r"[0-9a-fx$/.+]+$")


def seconds(text):
    """PT1M2.5S in nanoseconds."""
    h, m, s = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?",
                           text).groups()
    whole, _, part = (s or "0").partition(".")
    return ((int(h or 0) * 60 + int(m or 0)) * 60 + int(whole)) * 10**9 + \
        int((part + "0" * 9)[:9])


def frame(f):
    method = f["method"] or {}
    owner = ((method.get("type") or {}).get("name") or "")
    name = method.get("name") or ""
    if f["type"] in ("Native", "C++", "Kernel"):
        return name or "[unknown]"
    owner = MADE.sub(r"\1_", owner.replace(".", "/"))
    return owner + "." + name if owner else name or "[unknown]"


def stack(values):
    trace = values.get("stackTrace")
    if trace is None or not trace["frames"]:
        return "[no stack]"
    names = [frame(f).replace(";", ":") for f in reversed(trace["frames"])]
    return ";".join(["[truncated]"] * trace["truncated"] + names)


def fold(path):
    text = subprocess.run(
        ["jfr", "print", "--json", "--stack-depth", "4096", "--events",
         ",".join(EVENTS) + ",jdk.ActiveSetting", path],
        check=True, stdout=subprocess.PIPE).stdout
    events = json.loads(text)["recording"]["events"]
    wall = any(e["values"].get("name") == "event" and
               e["values"].get("value") == "wall" for e in events)
    out = Counter()
    for e in events:
        if e["type"] not in EVENTS:
            continue
        kind, field = EVENTS[e["type"]]
        v, at = e["values"], stack(e["values"])
        if kind == "cpu":
            if v["state"] != "STATE_SLEEPING":
                out["cpu", at] += 1
            if wall:
                out["wall", at] += 1
        elif kind in ("wall", "live"):
            out[kind, at] += v[field] if field else 1
        elif field == "duration":
            out[kind + "_count", at] += 1
            out[kind + "_duration", at] += seconds(v[field])
        else:
            out[kind + "_objects", at] += 1
            out[kind + "_bytes", at] += v[field]
    return out


def ours(path, memlens, kind):
    run = subprocess.run([memlens, "collapse", "--bare", "--type", kind, path],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True)
    out = Counter()
    for line in run.stdout.splitlines():
        at, value = line.rsplit(" ", 1)
        out[at] += int(value)
    return out


def folded(path):
    with open(path) as f:
        rows = (line.rstrip("\n").split("\t") for line in f)
        return {(kind, at): int(value) for kind, at, value in rows}


def check(path, memlens, before=None):
    theirs, bad = folded(before) if before else fold(path), 0
    for kind in sorted({k for k, _ in theirs}):
        a = {at: v for (k, at), v in theirs.items() if k == kind}
        b = ours(path, memlens, kind)
        # a duration's last digit is rounded by each reader in its own way
        slack = 1000 if kind.endswith("duration") else 0
        differ = [at for at in set(a) | set(b)
                  if abs(a.get(at, 0) - b.get(at, 0)) > slack]
        print(kind, len(a), "stacks,", sum(a.values()), "of them;",
              len(differ), "differ")
        for at in differ[:3]:
            print("  ", a.get(at), b.get(at), at[-200:])
        bad += len(differ)
    return bad


if sys.argv[1] == "fold":
    for (kind, at), value in sorted(fold(sys.argv[2]).items()):
        print(kind, at, value, sep="\t")
else:
    sys.exit(check(*sys.argv[2:]) > 0)
