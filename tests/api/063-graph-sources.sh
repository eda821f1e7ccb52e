#!/bin/bash
# Graphs of builders, each against the builder's own words: CMake, ninja,
# Meson, compile_commands.json, pkg-config, Cargo, Go's build information.
. tests/api/lib
D=tests/data/builders
dot() { "$B/memlens" graph --depth all "$@" >"$T/body" 2>"$T/head"; }
# "A B" of each edge of a kind, sorted
edges()
{
	sed -n 's/^\t"\([^"]*\)" -> "\([^"]*\)" \[class="'"$1"'".*/\1 \2/p' \
		"$T/body" | LC_ALL=C sort
}
edge() { edges "$3" | grep -qxF "$1 $2"; }
words() { printf '%s\n' "$@" | LC_ALL=C sort; }
sorted() { LC_ALL=C sort -u; }
same() { test -s "$T/want" && diff "$T/want" "$T/got" >&2; }
missing() { ! command -v "$1" >/dev/null; }
cp -r $D/shop "$T/shop"

# ---- CMake ----
if missing cmake || missing ninja; then
	echo "skip - CMake's graph: cmake or ninja is not here"
else
b=$T/shop/b
mkdir "$b"
cmake -S "$T/shop" -B "$b" -G Ninja >/dev/null || exit 1
rm "$b/build.ninja"
dot "$b"
check "a build folder that was not asked says how to ask" grep -q \
    'memlens graph --ask' "$T/head"
check "it is asked" "$B/memlens" graph --ask "$b"
check "and has nothing but the question more" [ "$(find "$b/.cmake/api" -type f)" = \
    "$b/.cmake/api/v1/query/client-memlens/codemodel-v2" ]
cmake -S "$T/shop" -B "$b" -G Ninja --graphviz="$T/cmake.dot" >/dev/null ||
	exit 1
check "CMake's answer is read" dot "$b"
# names of nodes are comments there; what has no sources, and what is no
# target, is of other shapes
grep -oE 'label = "[^"]*", shape = (pentagon|septagon)' "$T/cmake.dot" |
	sed 's/label = "\([^"]*\)".*/\1/' >"$T/other"
sed -n 's|.* // \([^ ]*\) -> \([^ ]*\)$|\1 \2|p' "$T/cmake.dot" |
	grep -vwFf "$T/other" | sorted >"$T/want"
edges needs | grep -v '\.so$' >"$T/got"
check "targets need each other as cmake --graphviz says" same
edges needs | grep '\.so$' >"$T/got"
words "shop_test libm.so" "shop_test libz.so" "wire libm.so" \
	"wire libz.so" >"$T/want"
check "libraries of the system are of what is linked with them" same
words "shop" "shop_test" >"$T/want"
edges holds | sed 's/shop (CMake project) //' >"$T/got"
check "the project holds what nothing else needs" same
check "its source is named" sh -c \
    "! grep . '$T/head' && '$B/memlens' graph '$b' | grep -q 'digraph'"
dot --root wire "$b"
words store makewords libm.so libz.so wire >"$T/want"
sed -n 's/^\t*"\([^"]*\)" \[class.*/\1/p' "$T/body" | sorted >"$T/got"
check "one target's part" same
dot --root nosuch "$b"
check "a target that is not there" grep -q 'has no node "nosuch"' "$T/head"
reply=$(echo "$b"/.cmake/api/v1/reply/target-store-*.json)
head -c 200 "$reply" >"$T/half" && cp "$T/half" "$reply"
dot "$b"
check "half an answer is not all" grep -q 'not all of it is known' "$T/head"

# ---- ninja ----
check "a build.ninja is read" dot "$b/build.ninja"
ninja -C "$b" -t graph all | grep -v '^ninja:' >"$T/ninja.dot"
cat >"$T/files.py" <<'END'
# "OUTPUT INPUT" of a graph of ninja -t graph, whose statements are nodes, but
# for those of one output and one input, which are edges
import re, sys
name, statement, edge = {}, set(), []
for line in open(sys.argv[1]):
    if m := re.match(r'"(0x\w+)" -> "(0x\w+)"', line):
        edge.append(m.groups())
    elif m := re.match(r'"(0x\w+)" \[label="(.*?)"(, shape=ellipse)?\]', line):
        name[m[1]] = m[2]
        if m[3]: statement.add(m[1])
into = {}
for a, b in edge: into.setdefault(b, []).append(a)
for a, b in edge:
    if b not in statement and b in name: # not what nothing needs
        for i in into.get(a, []) if a in statement else [a]:
            print(name[b], name[i])
END
python3 "$T/files.py" "$T/ninja.dot" | sorted >"$T/want"
edges '[a-z]*' | sorted >"$T/got"
check "files need each other as ninja -t graph says" same
check "what only has to be there first is marked" edge shop pieces condition
check "objects are objects" grep -q '"CMakeFiles/shop.dir/src/shop.c.o" \[class="object"' \
    "$T/body"
check "all of it is known" [ ! -s "$T/head" ]
ninja -C "$b" -t graph shop >"$T/ninja.dot"
python3 "$T/files.py" "$T/ninja.dot" | sorted >"$T/want"
dot --root shop "$b/build.ninja"
edges '[a-z]*' | sorted >"$T/got"
check "one target's as ninja's" same

# what a build finds out
mkdir "$T/found"
cat >"$T/found/build.ninja" <<'END'
rule c
  command = touch $out
build a.o | extra.h: c a.c || a.dd b.dd
  dyndep = a.dd
build b.o: c b.c || b.dd
  dyndep = b.dd
build a.dd: c a.c
build b.dd: c b.c
build app: c a.o b.o
END
printf 'ninja_dyndep_version = 1\nbuild a.o | a.mod: dyndep | b.mod\n' >"$T/found/a.dd"
printf 'ninja_dyndep_version = 1\nbuild b.o | b.mod: dyndep\n' >"$T/found/b.dd"
ninja -C "$T/found" -t graph app | grep -v '^ninja:' >"$T/ninja.dot"
python3 "$T/files.py" "$T/ninja.dot" | sorted >"$T/want"
dot --root app "$T/found"
# ninja draws a statement with all its outputs from each of them
edges '[a-z]*' | grep -v '^b.mod ' | sorted >"$T/got"
grep -vE '^(extra.h|a.mod|b.mod) ' "$T/want" >"$T/less" && mv "$T/less" "$T/want"
check "what a build found out is needed, as ninja says" same
check "by what it is of" edge a.o b.mod needs
check "and made with it" edge b.mod b.c needs
check "all of that is known" [ ! -s "$T/head" ]
rm "$T/found/b.dd"
dot --root app "$T/found"
check "what is not there yet is not all, by name" grep -q \
    'not all of it is known: .*b.dd (dyndep)' "$T/head"

# ---- compile_commands.json ----
ninja -C "$b" -t compdb >"$T/compile_commands.json"
check "commands are read" dot "$T/compile_commands.json"
words makewords pieces shop shop_test store wire >"$T/want"
edges holds | sed 's/compile_commands.json //' | grep -v / >"$T/got"
check "objects tell their targets" same
fi

# ---- Meson ----
if missing meson || missing ninja; then
	echo "skip - Meson's graph: meson or ninja is not here"
else
m=$T/shop/m
meson setup "$m" "$T/shop" >"$T/meson.log" || exit 1
check "Meson's folder is read" dot "$m"
check "all that introspection tells is there" python3 - "$m" "$T/body" <<'END'
import json, re, subprocess, sys
def ask(what):
    return json.loads(subprocess.run(["meson", "introspect", what, sys.argv[1]],
        check=True, capture_output=True).stdout)
nodes = set(re.findall(r'^\t*"([^"]*)" \[class', open(sys.argv[2]).read(), re.M))
for t in ask("--targets"):
    assert t["name"] in nodes, t["name"]
for d in ask("--dependencies"):
    v = "" if d["version"] == "unknown" else " " + d["version"]
    assert d["name"] + v in nodes, d["name"]
assert len(nodes) == 8 + 2 + 2 + 2, nodes # and libm, the project
END
# what a target needs, at any depth, by ninja
cat >"$T/closure.py" <<'END'
import re, subprocess, sys
outputs = {"makewords": "makewords", "words.c": "words", "libstore.a": "store",
    "libwire.so": "wire", "libpieces.a": "pieces", "shop": "shop",
    "shop_test": "shop_test", "bin/wire": "bin/wire"}
edges = {}
for a, b in re.findall(r'^\t"([^"]*)" -> "([^"]*)" \[class="needs"',
        open(sys.argv[2]).read(), re.M):
    edges.setdefault(a, set()).add(b)
def closure(n, seen):
    for m in edges.get(n, ()):
        if m not in seen: closure(m, seen | {m}); seen |= closure(m, seen | {m})
    return seen
for file, target in outputs.items():
    files = subprocess.run(["ninja", "-C", sys.argv[1], "-t", "inputs", file],
        check=True, capture_output=True, text=True).stdout.split("\n")
    want = {t for f in files for o, t in outputs.items()
        if f == o or f.startswith(o + ".p/")} - {target}
    got = closure(target, set()) & set(outputs.values())
    assert got == want, (target, got, want)
END
check "targets need each other as ninja's inputs say" python3 "$T/closure.py" \
    "$m" "$T/body"
words "shop_test threads" "shop_test zlib $(pkg-config --modversion zlib)" \
	"wire zlib $(pkg-config --modversion zlib)" >"$T/want"
edges needs | grep -E 'threads|zlib' >"$T/got"
check "dependencies are of what is linked with them" same
check "a second target of one name goes by its file" edge bin/wire wire needs
check "objects of another target are needed from it" edge shop pieces needs
check "a generated file comes from what makes it" edge store words needs
check "all of it is known" [ ! -s "$T/head" ]
check "what runs a program needs it" edge serve shop needs
check "and what is called so" edge shops shop needs
check "and the project holds it as before" edge "shop (Meson project)" shop holds
# an archive shares its objects with the shared library of both
mkdir "$T/both"
cat >"$T/both/meson.build" <<'END'
project('both', 'c')
head = custom_target('head', output: 'head.h', command: ['touch', '@OUTPUT@'])
both = both_libraries('bo', 'bo.c', head)
shared_module('mod', 'mod.c', link_with: both.get_static_lib())
shared_module('dyn', 'mod.c', link_with: both.get_shared_lib())
END
echo 'int bo(void) { return 1; }' >"$T/both/bo.c"
echo 'int bo(void); int mod(void) { return bo(); }' >"$T/both/mod.c"
meson setup "$T/both/b" "$T/both" >"$T/meson.log" || exit 1
dot "$T/both/b"
check "the shared library is nothing that ninja makes the module of" sh -c \
    "ninja -C '$T/both/b' -t inputs libmod.so | grep -qxF libbo.a &&
	! ninja -C '$T/both/b' -t inputs libmod.so | grep -qxF libbo.so"
words "bo head" "dyn bo" "libbo.a head" "mod libbo.a" >"$T/want"
edges needs >"$T/got"
check "nor is it needed by the archive that shares its objects" same
fi

# ---- pkg-config ----
pc() { PKG_CONFIG_PATH=$PWD/$D/pkgconfig pkg-config "$@"; }
for package in shop cairo; do
	file=$(PKG_CONFIG_PATH=$D/pkgconfig pkg-config --path $package)
	check "$package.pc is read" dot "$file"
	sed -n 's/^\t*"\([^"]*\) \([^" ]*\)" \[class="library".*/\1 \2/p' "$T/body" |
		sorted >"$T/got"
	while read -r n _; do
		echo "$n $(pc --modversion $n)"
	done <"$T/got" | sorted >"$T/want"
	check "versions of $package's are pkg-config's" same
	while read -r n v; do
		pc --print-requires $n | sed "s|^\([^ ]*\).*|$n $v \1|"
		pc --print-requires-private $n |
			sed "s|^\([^ ]*\).*|$n $v \1 only|"
	done <"$T/want" | sorted >"$T/pairs"
	mv "$T/pairs" "$T/want"
	{ edges needs | sed 's/ [^ ]*$//'
	edges condition | sed 's/ [^ ]*$/ only/'; } | sorted >"$T/got"
	check "what $package's require is pkg-config's word" same
done
printf 'Name: odd\nVersion: 1\nRequires: nosuch-package\n' >"$T/odd.pc"
dot "$T/odd.pc"
check "a package that is not there is said" grep -q \
    '"nosuch-package (not found)" \[class="missing"' "$T/body"
check "and not all is known" grep -q 'not all' "$T/head"

# ---- Cargo ----
# crates JSON TREE WHERE : what is read of the one is what the other draws
crates()
{
	check "cargo metadata is read$3" dot --root 'shop 0.1.0' "$1"
	sed 's/^\([0-9]\)\([^ ]*\) v\([^ ]*\).*/\1 \2 \3/' "$2" | awk '
		{ at[$1] = $2 " " $3; if ($1 > 0) print at[$1 - 1] " " at[$1] }' |
		sorted >"$T/want"
	edges '[a-z]*' >"$T/got"
	check "crates need each other as cargo tree says$3" same
}
crates $D/crates.json $D/crates.tree ""
# of itself, where it is there
if ! missing cargo; then
	cp -r $D/crates "$T/crates"
	(cd "$T/crates/shop" && cargo metadata --format-version 1 --offline \
		>"$T/crates.json" 2>/dev/null && cargo tree --offline --edges \
		no-dev --target all --prefix depth >"$T/crates.tree") || exit 1
	crates "$T/crates.json" "$T/crates.tree" ", by this cargo"
fi
dot $D/crates.json
check "the package that was asked for is the root" grep -q \
    '"shop 0.1.0".*fillcolor="#cfe0f7"' "$T/body"

# ---- Go's build information ----
if missing go; then
	echo "skip - Go's build information: go is not here"
else
mkdir -p "$T/m/in" "$T/dep.v2/sub"
printf 'module example.org/m\n\ngo 1.19\n\nrequire example.org/dep.v2 v0.1.0\n\nreplace example.org/dep.v2 => ../dep.v2\n' \
	>"$T/m/go.mod"
printf 'package main\n\nimport (\n\t"example.org/dep.v2/sub"\n\t"example.org/m/in"\n)\n\nfunc main() { println(in.F(), sub.G()) }\n' \
	>"$T/m/main.go"
printf 'package in\n\nfunc F() int { return 1 }\n' >"$T/m/in/in.go"
printf 'module example.org/dep.v2\n\ngo 1.19\n' >"$T/dep.v2/go.mod"
printf 'package sub\n\nfunc G() int { return 2 }\n' >"$T/dep.v2/sub/sub.go"
(cd "$T/m" && HOME=$T GOCACHE=${GOCACHE:-$(go env GOCACHE)} GOFLAGS=-mod=mod \
	GOPROXY=off GOTOOLCHAIN=local go build -o ../app . &&
	cd .. && strip -o bare app && strip --strip-section-headers -o barer app \
	2>/dev/null)
for app in app bare; do
	go version -m "$T/$app" | awk -F '\t' '
		function name(v) { return $3 (v == "" || v == "(devel)" ? "" : " " v) }
		$2 == "mod" || $2 == "dep" { if (line) print line; line = name($4) }
		$2 == "=>" { line = line " => " name($4) }
		/: go/ { sub(/.*: /, "", $1); go = $1 }
		END { print line; print "Go'\''s standard library " go }' |
		sorted >"$T/want"
	dot "$T/$app"
	edges holds | sed "s/^$app //" | sorted >"$T/got"
	check "modules of $app are those of go version -m" same
done
fi

# As Go before 1.18 wrote it: by addresses.
cat >"$T/old.c" <<'END'
static const char version[] = "go1.17.3";
static const char modules[] = "0123456789abcdef"
    "path\texample.org/old\nmod\texample.org/old\tv1.2.3\th1:x=\n"
    "dep\texample.org/dep\tv0.9.0\th1:y=\n0123456789abcdef";
static const struct { const char *p; long n; }
    v = {version, sizeof(version) - 1}, m = {modules, sizeof(modules) - 1};
__attribute__((section(".go.buildinfo"), aligned(16), used))
static struct { char magic[14], size, flags; const void *version, *modules; }
    info = {"\xff Go buildinf:", 8, 0, &v, &m};
int main(void) { return 0; }
END
gcc -no-pie -o "$T/old" "$T/old.c" || exit 1
dot "$T/old"
words "example.org/dep v0.9.0" "example.org/old v1.2.3" \
	"Go's standard library go1.17.3" >"$T/want"
edges holds | sed 's/^old //' >"$T/got"
check "modules by addresses, as Go before 1.18 wrote them" same
exit $bad
