#!/usr/bin/env python3
"""The reference workload for the store and for ingestion: 10 s CPU profiles of one busy service, as folded text.

  profiles.py --slots N [--first I] [--out DIR]
  profiles.py --slots N --dump

3,000 stacks of mean depth 25 (12 to 40) over 2,500 C++-like names of 20 to 60 characters, sharing prefixes as a
call tree does. Each slot holds 300 distinct stacks drawn by a Zipf law and 800 to 1,200 samples; every 2,000
slots a hundredth of the stacks is replaced (drift). Deterministic for a slot number. With --out one file a
slot (000000.folded ...); without, a stream in which each slot begins with the line '# slot I total T'.
With --dump the population alone, for generators in other languages: 'name TEXT', 'stack INDEX NAME...' in the
order of creation, 'rank INDEX' from the most frequent stack on, and the drift: 'epoch K', followed by the stacks
that it replaces.
"""
import argparse
import bisect
import os
import random
import sys

STACKS, NAMES, DISTINCT, DRIFT_SLOTS = 3000, 2500, 300, 2000
SPACES = "std boost net http storage rpc query exec index codec memory cache proto util sched io txn log auth".split()
CLASSES = ("Request Response Buffer Stream Session Table Block Filter Segment Cursor Executor Planner Reader Writer "
           "Allocator Hash Tree Queue Worker Channel Codec Cache Index Page Lock Event Loop Handler Context").split()
VERBS = ("read write decode encode process handle dispatch run lookup insert erase flush compress evaluate resolve "
         "advance merge split acquire release parse format compare allocate").split()
TAILS = "Next All Batch Internal Locked Slow Fast Impl Async Entry Header Value Key Range Chunk".split()
TYPES = "unsigned_int std::string int64_t char double RowView ByteSpan SharedPtr".split()


def names(rng):
    seen = []
    known = set()
    while len(seen) < NAMES:
        n = rng.choice(SPACES) + "::" + (rng.choice(SPACES) + "::" if rng.random() < .5 else "")
        n += rng.choice(CLASSES) + rng.choice(CLASSES) + ("<%s>" % rng.choice(TYPES) if rng.random() < .33 else "")
        n += "::" + rng.choice(VERBS) + rng.choice(TAILS) + ("(%s)" % rng.choice(TYPES) if rng.random() < .33 else "")
        if 20 <= len(n) <= 60 and n not in known:
            known.add(n)
            seen.append(n)
    return seen


def new_stack(rng, stacks):
    depth = min(40, max(12, 25 + round(rng.gauss(0, 4))))
    base = rng.choice(stacks) if stacks else [0, 1, 2]
    keep = min(depth - 1, rng.randint(3, max(3, len(base) - 1)))
    stack = base[:keep]
    return stack + [rng.randrange(NAMES) for _ in range(depth - len(stack))]


class Population:
    def __init__(self, seed=20240601):
        self.rng = random.Random(seed)
        self.names = names(self.rng)
        self.stacks = []
        for _ in range(STACKS):
            self.stacks.append(new_stack(self.rng, self.stacks))
        self.folded = [self._fold(s) for s in self.stacks]
        self.order = self.rng.sample(range(STACKS), STACKS)
        self.sums = []
        total = 0.0
        for rank in range(STACKS):
            total += 1 / (20 + rank) ** 1.15
            self.sums.append(total)
        self.epoch = 0

    def _fold(self, stack):
        return ";".join(self.names[i] for i in stack)

    def drift_to(self, epoch):
        while self.epoch < epoch:
            self.epoch += 1
            for i in self.rng.sample(range(STACKS), STACKS // 100):
                self.stacks[i] = new_stack(self.rng, self.stacks)
                self.folded[i] = self._fold(self.stacks[i])

    def slot(self, number):
        """Returns {stack index: samples} of a slot; slots must be asked for in ascending order."""
        self.drift_to(number // DRIFT_SLOTS)
        rng = random.Random(number * 2654435761 + 1)
        total = 800 + rng.randrange(401)
        counts = {}
        while sum(counts.values()) < total if len(counts) == DISTINCT else True:
            rank = bisect.bisect_left(self.sums, rng.random() * self.sums[-1])
            stack = self.order[min(rank, STACKS - 1)]
            if stack in counts:
                counts[stack] += 1
            elif len(counts) < DISTINCT:
                counts[stack] = 1
        return counts


def text(population, counts):
    return "".join("%s %d\n" % (population.folded[s], c) for s, c in counts.items())


def dump(population, slots):
    line = "stack %d %s\n"
    for name in population.names:
        sys.stdout.write("name %s\n" % name)
    for i, stack in enumerate(population.stacks):
        sys.stdout.write(line % (i, " ".join(map(str, stack))))
    for i in population.order:
        sys.stdout.write("rank %d\n" % i)
    for epoch in range(1, slots // DRIFT_SLOTS + 1):
        before = list(population.stacks)
        population.drift_to(epoch)
        sys.stdout.write("epoch %d\n" % epoch)
        for i, stack in enumerate(population.stacks):
            if stack is not before[i]:
                sys.stdout.write(line % (i, " ".join(map(str, stack))))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--slots", type=int, required=True)
    args.add_argument("--first", type=int, default=0)
    args.add_argument("--out")
    args.add_argument("--dump", action="store_true")
    a = args.parse_args()
    population = Population()
    if a.dump:
        return dump(population, a.slots)
    if a.out:
        os.makedirs(a.out, exist_ok=True)
    for i in range(a.first, a.first + a.slots):
        counts = population.slot(i)
        body = text(population, counts)
        if a.out:
            with open(os.path.join(a.out, "%06d.folded" % i), "w") as f:
                f.write(body)
        else:
            sys.stdout.write("# slot %d total %d\n%s" % (i, sum(counts.values()), body))


if __name__ == "__main__":
    main()
