"""Compares what memlens heap prints with jeprof and addr2line.

heap_compare.py table JEPROF OURS FUNCTION...  rows of these functions, Total
heap_compare.py raw DUMP JEPROF OURS           folded, by module and offset
heap_compare.py named JEPROF OURS FUNCTION...  folded, from FUNCTION on, in PROGRAM
heap_compare.py lines ADDR2LINE OURS SHARE     -a -f -i; names may differ in
                                               1 - SHARE of the addresses
Says nothing and ends with 0 where both agree.
"""
import bisect
import itertools
import re
import sys
from collections import Counter

# The functions of heap_program.c.
PROGRAM = {"main", "run_threads", "work", "take_small", "take_big",
           "take_deep", "filled", "dump"}
problems = []


def differ(what, theirs, ours):
    problems.append(f"{what}: theirs {theirs}, ours {ours}")


def lines(path):
    with open(path, errors="replace") as f:
        return f.read().splitlines()


def table(jeprof, ours, *functions):
    def rows(path):
        out = {}
        for line in lines(path):
            if line.startswith("Total:"):
                out["Total"] = line.split()[1:]
                continue
            m = re.match(r"\s*(\S+)\s+\S+\s+\S+\s+(\S+)\s+\S+ (.*)", line)
            if m:
                out[m.group(3)] = m.group(1, 2)
        return out
    a, b = rows(jeprof), rows(ours)
    if "Total" not in a or "Total" not in b:
        differ("Total", a.get("Total"), b.get("Total"))
    seen = 0
    for name in ("Total",) + functions:
        seen += name in a
        if a.get(name) != b.get(name):
            differ(name, a.get(name), b.get(name))
    if seen < 2:
        differ("rows", list(a), list(b))


def folded(path):
    out = Counter()
    n = Counter()
    for line in lines(path):
        stack, _, value = line.rpartition(" ")
        out[stack] += int(value)
        n[stack] += 1
    return out, n


def modules(dump):
    maps = []
    at = lines(dump)
    for line in at[at.index("MAPPED_LIBRARIES:") + 1:]:
        f = line.split()
        if len(f) > 5 and f[1][2] == "x":
            start, end = (int(x, 16) for x in f[0].split("-"))
            maps.append((start, end, int(f[2], 16), f[5].split("/")[-1]))
    maps.sort()

    def place(address):
        i = bisect.bisect(maps, (address, 1 << 64)) - 1
        if i < 0 or address >= maps[i][1]:
            return hex(address)
        start, _, offset, name = maps[i]
        return f"{name}+{hex(address - start + offset)}"
    return place


def close(a, b, n):
    """jeprof cuts each of its n lines, ours is whole and keeps the total."""
    for stack in set(a) | set(b):
        if abs(a[stack] - b[stack]) > n[stack] + 1:
            differ(stack, a[stack], b[stack])
        elif stack not in b and abs(a[stack]) > n[stack]:
            differ(stack, a[stack], "nothing")
        elif stack not in n:
            differ(stack, "nothing", b[stack])
    if not b:
        differ("stacks", len(a), 0)


def raw(dump, jeprof, ours):
    place = modules(dump)
    theirs, n = folded(jeprof)
    a, count = Counter(), Counter()
    for stack, value in theirs.items():
        key = ";".join(place(int(x, 16)) for x in stack.split(";"))
        a[key] += value
        count[key] += n[stack]
    close(a, folded(ours)[0], count)


def named(jeprof, ours, *functions):
    def cut(path, clean):
        out, n = Counter(), Counter()
        values, counts = folded(path)
        for stack, value in values.items():
            frames = [clean(f) for f in stack.split(";")]
            first = [i for i, f in enumerate(frames) if f in functions]
            if first:
                # not into libraries, where a symbol and the DWARF of one
                # address bear different names
                own = itertools.takewhile(
                    lambda f: f.removesuffix("_[i]") in PROGRAM,
                    frames[first[0]:])
                key = ";".join(own)
                out[key] += value
                n[key] += counts[stack]
        return out, n
    a, n = cut(jeprof, lambda f: re.sub(r"<\w+>", "", f)
               .replace("[inline]", "_[i]"))
    b, m = cut(ours, lambda f: f)
    for stack, count in m.items():
        if stack in n:
            n[stack] += count
    close(a, b, n)


def addresses(path):
    out = []
    for line in lines(path):
        if re.fullmatch("0x[0-9a-f]{16}", line):
            out.append((line, [], []))
        else:
            out[-1][1 + (len(out[-1][1]) > len(out[-1][2]))].append(line)
    return out


def bare(name):
    """read of ns::T<int>::read(char const*) const [clone .cold]"""
    name = re.sub(r" ?\[clone.*|@.*|\.(cold|part|constprop|isra).*", "", name)
    name = name.replace("(anonymous namespace)", "").replace("~", "")
    while re.search(r"\([^()]*\)|<[^<>]*>|\{[^{}]*\}", name):
        name = re.sub(r"\([^()]*\)|<[^<>]*>|\{[^{}]*\}", "", name)
    name = name.replace(" const", "").strip()
    return re.split(r"::| ", name)[-1] if "operator" not in name else "op"


def compare_lines(theirs, ours, share):
    a, b = addresses(theirs), addresses(ours)
    if [x[0] for x in a] != [x[0] for x in b] or not a:
        differ("addresses", len(a), len(b))
        return
    other = known = 0
    for (at, names, places), (_, our_names, our_places) in zip(a, b):
        places = [re.sub(r" \(discriminator \d+\)", "", p).split(":")[-1]
                  for p in places]
        our_places = [p.split(":")[-1] for p in our_places]
        if places != ["?"] and places != our_places:
            differ(f"{at} lines", places, our_places)
        names = [bare(n) for n in names]
        our_names = [bare(n) for n in our_names]
        known += places != ["?"]
        if names != our_names:
            other += 1
            if float(share) == 1:
                differ(f"{at} names", names, our_names)
    if other > (1 - float(share)) * len(a):
        differ("names that differ", other, f"of {len(a)}")
    if known < len(a) / 100:
        differ("known addresses", known, f"of {len(a)}")


{"table": table, "raw": raw, "named": named,
 "lines": compare_lines}[sys.argv[1]](*sys.argv[2:])
for problem in problems[:10]:
    print(problem)
sys.exit(bool(problems))
