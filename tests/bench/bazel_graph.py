#!/usr/bin/env python3
"""What memlens graph reads of the BUILD files of a checkout, against bazel's
own words: those of a capture, or of bazel where it is (Debian's
bazel-bootstrap), in an overlay whose other repositories are stubs.

    bazel_graph.py MEMLENS FOLDER TARGET [CAPTURE.graph]

Compares nodes and edges, with their conditions, at depth 2, 3, 4 and all; of a
capture it tells whose declarations differ, for its version of the checkout may
be another one.  Ends with 0 where all are equal."""
import collections, os, re, subprocess, sys, tempfile, time

memlens, folder, target = sys.argv[1:4]
capture = sys.argv[4] if len(sys.argv) > 4 else None
folder = os.path.abspath(folder)

def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True,
        **more).stdout

def read(text):
    """Nodes, and edges as (from, to): condition."""
    nodes, edges = set(), {}
    # bazel writes a condition on a line of its own
    for line in text.replace("\n  [label", " [label").split("\n"):
        m = re.match(r'\s*"([^"]*)" -> "([^"]*)"(?: \[(.*)\])?', line)
        if m:
            label = re.search(r'label="([^"]*)"', m[3] or "")
            edges[m[1], m[2]] = label[1] if label else ""
            nodes |= {m[1], m[2]}
        elif m := re.match(r'\s*"([^"]*)"(?: \[.*\])?;?$', line):
            nodes.add(m[1])
    return nodes, edges

def cut(graph, root, depth):
    """What deps(root, depth) has: no edges of the last level."""
    nodes, edges = graph
    out = collections.defaultdict(list)
    for a, b in edges: out[a].append(b)
    level, queue = {root: 0}, collections.deque([root])
    while queue:
        n = queue.popleft()
        if depth is not None and level[n] == depth: continue
        for m in out[n]:
            if m not in level: level[m] = level[n] + 1; queue.append(m)
    return set(level), {e: c for e, c in edges.items() if e[0] in level and
        (depth is None or level[e[0]] < depth)}

# ---- bazel itself ----

NATIVE = {"cc_library", "cc_binary", "cc_test", "cc_import", "cc_toolchain",
    "cc_toolchain_suite", "cc_proto_library", "proto_library", "py_library",
    "py_binary", "py_test"}

def label(text):
    repo, _, rest = text[1:].partition("//")
    package, _, name = rest.partition(":")
    return repo, package, name or (package.split("/")[-1] or repo)

def stub(out, known):
    """The checkout, and for each other repository that it names one of
    targets and rules without an inside."""
    targets, rules = collections.defaultdict(set), collections.defaultdict(set)
    for at, _, files in os.walk(folder):
        for name in files:
            if name not in ("BUILD", "BUILD.bazel"): continue
            text = open(os.path.join(at, name)).read()
            for call in re.findall(r"^\s*load\(([^)]*)\)", text, re.M | re.S):
                words = re.findall(r'"([^"]*)"', call)
                if words[0][0] == "@": rules[words[0]] |= set(words[1:])
    for node in known:
        if node[0] == "@": targets[label(node)[:2]].add(label(node)[2])
    for r in ("rules_cc", "remote_coverage_tools"): targets[r, ""].add(r)
    targets["remote_coverage_tools", ""].add("coverage_report_generator")
    for t in ("protoc", "protobuf", "cc_toolchain"):
        targets["com_google_protobuf", ""].add(t)
    rules["@rules_cc//cc:defs.bzl"] |= NATIVE
    run("cp", "-r", folder + "/.", out)
    name = re.search(r'workspace\(name = "([^"]*)"', open(out + "/WORKSPACE")
        .read()) if os.path.exists(out + "/WORKSPACE") else None
    repos = {r for r, _ in targets} | {label(f)[0] for f in rules}
    with open(out + "/WORKSPACE", "w") as f:
        f.write('workspace(name = "%s")\n' % (name[1] if name else "checkout"))
        for r in sorted(repos):
            f.write(f'local_repository(name = "{r}", path = ".stub/{r}")\n')
    for r in repos: write(f"{out}/.stub/{r}/WORKSPACE", "")
    for (r, p), names in targets.items():
        write(f"{out}/.stub/{r}/{p}/BUILD", "".join('cc_library(name = "%s", '
            'visibility = ["//visibility:public"])\n' % n
            for n in sorted(names)))
    for file, names in rules.items():
        r, p, f = label(file)
        write(f"{out}/.stub/{r}/{p}/BUILD", "")
        write(f"{out}/.stub/{r}/{p}/{f}", "".join(
            f"def {n}(**k):\n    native.{n}(**k)\n" if n in NATIVE else
            f"def {n}(name, lib_source = None, **k):\n    native.filegroup(name"
            " = name, srcs = [lib_source] if lib_source else [], visibility = "
            '["//visibility:public"])\n' for n in sorted(names)))

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as f: f.write(text)

def ask_bazel(known):
    with tempfile.TemporaryDirectory() as work:
        stub(work + "/checkout", known)
        at = dict(cwd=work + "/checkout")
        command = ["bazel", "--output_user_root=" + work + "/root"]
        out = {}
        try:
            for depth in (2, 3, 4, None):
                deps = f"deps({target}" + (f", {depth})" if depth else ")")
                done = subprocess.run([*command, "query", "--notool_deps",
                    "--noimplicit_deps", "--output", "graph", "--keep_going",
                    "--nograph:factored", deps], capture_output=True,
                    text=True, **at)
                for line in done.stderr.split("\n"):
                    if "ERROR" in line: print("bazel:", line)
                out[depth] = read(done.stdout)
        finally:
            # its server would stay for hours
            subprocess.run([*command, "shutdown"], capture_output=True, **at)
            run("chmod", "-R", "u+w", work)
        return out

# ---- both ----

start = time.monotonic()
done = subprocess.run([memlens, "graph", "--depth", "all", "--root", target,
    folder], check=True, capture_output=True, text=True)
took = time.monotonic() - start
ours = read(done.stdout)
print(done.stderr, end="")
bazel = {None: read(open(capture).read())} if capture else ask_bazel(ours[0])
bad = 0
for depth in (2, 3, 4, None):
    mine = cut(ours, target, depth)
    theirs = bazel[depth] if depth in bazel else cut(bazel[None], target,
        depth)
    edges = {e for e in mine[1].items()} & {e for e in theirs[1].items()}
    print("depth %s: nodes %d of %d and %d more, edges %d of %d and %d more" %
        (depth or "all", len(mine[0] & theirs[0]), len(theirs[0]),
        len(mine[0] - theirs[0]), len(edges), len(theirs[1]),
        len(set(mine[1].items()) - edges)))
    bad += mine != theirs
# whose declarations are not those of the capture, and how
out = [collections.defaultdict(set), collections.defaultdict(set)]
for i, g in enumerate((ours, bazel[None])):
    for (a, b), c in g[1].items(): out[i][a].add((b, c))
declared = set(out[0]) | set(out[1])
same = [n for n in declared if out[0][n] == out[1][n]]
print("declarations %d of %d are the same; read in %.2f s" % (len(same),
    len(declared), took))
for n in sorted(declared - set(same)):
    print(" ", n, "has", sorted(b for b, _ in out[0][n] - out[1][n]) or "no",
        "more and lacks", sorted(b for b, _ in out[1][n] - out[0][n]) or "none")
sys.exit(bad != 0)
