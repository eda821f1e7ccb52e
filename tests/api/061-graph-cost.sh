#!/bin/bash
# What the parts of a program cost: from the linker's map, told to the store
# by memlens graph, to shares of a profile that add up.
. tests/api/lib
. tests/api/stack
mkdir "$T/src"
cat >"$T/src/main.c" <<'END'
#include <stdlib.h>
int parse(int n);
__attribute__((noinline)) static int own(int n) { return parse(n); }
int main(int n, char **a) { return own(n) == atoi(a[0]); }
END
cat >"$T/src/parse.c" <<'END'
int hash(int n);
__attribute__((weak)) int shared(int n) { return n * 7; }
__attribute__((noinline)) static int step(int n) { return hash(n) ^ 5; }
int parse(int n) { return step(n) + shared(n); }
END
cat >"$T/src/hash.c" <<'END'
__attribute__((weak)) int shared(int n) { return n * 7; }
__attribute__((noinline)) static int step(int n) { return n * 31; }
int hash(int n) { return step(n) + shared(n); }
END
echo 'int unused(int n) { return n; }' >"$T/src/unused.c"
(cd "$T/src" && gcc -g -O1 -c ./*.c && ar rc libparts.a parse.o hash.o \
    unused.o && gcc -o ../prog main.o libparts.a -Wl,-Map=../map,--cref &&
    gcc -o ../plain main.o libparts.a -Wl,-Map=../map2 && strip ../plain) ||
    exit 1
dot() { "$B/memlens" graph --depth all "$@" >"$T/body" 2>"$T/head"; }
edge() { grep -q "\"$1\" -> \"$2\" \[class=\"$3\"" "$T/body"; }
no_edge() { ! grep -q "\"$1\" -> \"$2\"" "$T/body"; }

# ---- the linker's map ----
check "the linker's map is read" dot --map "$T/map" "$T/prog"
check "a program holds its objects" edge prog main.o holds
check "a member is there because of who calls it" \
    edge main.o 'libparts.a(parse.o)' needs
check "and a member's member" \
    edge 'libparts.a(parse.o)' 'libparts.a(hash.o)' needs
check "a copy of weak code is no reason" \
    no_edge 'libparts.a(hash.o)' 'libparts.a(parse.o)'
check "a library by its symbols" edge main.o libc.so.6 needs
check "what was not linked is not there" \
    sh -c "! grep -q 'unused\|Merging\|_end' '$T/body'"
check "all of it is known" test ! -s "$T/head"
# names of its own folder, a library's by a link to it
mkdir -p "$T/rel/lib" "$T/rel/bin" "$T/far"
(cd "$T/rel" && echo 'int q(void) { return 1; }' | gcc -shared -fPIC -x c - \
    -Wl,-soname,libq.so.1 -o lib/libq.so.1.0 &&
    ln -s libq.so.1.0 lib/libq.so && ln -s libq.so.1.0 lib/libq.so.1 &&
    echo 'int q(void); int main(void) { return q(); }' |
    gcc -c -x c - -o main.o && gcc -o bin/app main.o lib/libq.so \
    -Wl,-rpath,"$T/rel/lib" -Wl,-Map=app.map,--cref) || exit 1
check "a map with relative names is read anywhere" dot --map "$T/rel/app.map" \
    "$T/rel/bin/app"
check "its libraries are found" edge main.o libq.so.1 needs
check "and all of it is known" test ! -s "$T/head"
(memlens=$PWD/$B/memlens; [ "${B#/}" = "$B" ] || memlens=$B/memlens
cd "$T/rel" && "$memlens" graph --depth all --map app.map bin/app >"$T/dot")
check "from its own folder it is the same" cmp -s "$T/dot" "$T/body"
cp "$T/rel/app.map" "$T/rel/bin/app" "$T/far"
check "far from what was linked" dot --map "$T/far/app.map" "$T/far/app"
check "it is said that some is not known" grep -q 'not all of it' "$T/head"
check "a map without symbols" dot --map "$T/map2" "$T/prog"
check "is known to lack some" grep -q 'not all of it is known' "$T/head"
cat >"$T/built.graph" <<'END'
digraph mygraph {
  "//:app" -> "//:main.c"
  "//:app" -> "//:parts"
  "//:parts" -> "//:parse.c"
  "//:parts" -> "//:hash.c"
  "//other:app" -> "//:parts"
}
END
check "what it was built from, by its builder" dot --build "$T/built.graph" \
    --root //:app "$T/prog"
check "below the program" edge prog //:app holds
check "with its libraries" edge prog libc.so.6 needs
check "without other targets" no_edge //other:app //:parts
check "a build without that target" sh -c "! '$B/memlens' graph --build \
    '$T/built.graph' --root //no:such '$T/prog' >'$T/body' 2>'$T/head'"
check "a map or a build" sh -c "! '$B/memlens' graph --build \
    '$T/built.graph' --map '$T/map' '$T/prog' >'$T/body' 2>'$T/head'"
check "no map is no graph" sh -c "! '$B/memlens' graph --map \
    tests/data/kv_service-full.graph '$T/prog' >'$T/body' 2>'$T/head'"
# it drew what perl was never linked from
check "another program's map is none of its own" sh -c "! '$B/memlens' graph \
    --map '$T/map' '$B/kvservice' >'$T/body' 2>'$T/head'"
check "which is said" grep -q "of this very build" "$T/head"
size=$(stat -c %s "$T/plain")
for part in $((size / 3)) $((size - 100)); do
	head -c $part "$T/plain" >"$T/cut"
	dot "$T/cut"
	check "what ends early is known to, and named" grep -qE \
	    "not all of it is known: .*cut short: $T/cut" "$T/head"
done
check "folders by debug information" dot --folders "$T/prog"
check "the folder of the sources" grep -qF "\"$T/src/\" [class=\"folder\"" \
    "$T/body"
check "without it there are none" sh -c "! '$B/memlens' graph --folders \
    '$T/plain' >'$T/body' 2>'$T/head'"

# ---- told, with a profile ----
start_stack
at="from=1700000000&until=1700000010"
cat >"$T/stacks" <<'END'
main;own;parse;hash 70
main;own;parse 20
main;own;parse;shared 5
main;own;parse;step 1
main;own;parse;hash;hash;parse 2
main;own;vfs_read_[k] 3
main;gone 4
END
tell() { "$B/memlens" graph --tell "$@" --socket "$T/memlensd.sock" \
    "$T/prog" 2>"$T/head"; }
check "the store is told" tell prog --map "$T/map"
check "of another, too" tell other --folders
check "of a build" tell built --build "$T/built.graph" --root //:app
"$B/memlens" graph --tell service --socket "$T/memlensd.sock" \
    --map "$B/kvservice.map" "$B/kvservice" 2>"$T/head"
put "$T/stacks" "/ingest?name=prog.cpu&$at&sampleRate=100"
check "a profile is there" status 200
graph="/api/v1/graph.json?target=prog&depth=all"
ask="query=cpu%7Bservice%3D%22prog%22%7D&$at"
asked()
{
	get GET "$graph&$ask" && js 'd.nodes.length > 4'
}
await 60 asked
check "told graphs are targets" js 'd.targets.join() ===
    "built,other,prog,service" &&
    d.told > 1.7e9 && /the linker/.test(d.source) && d.complete === true &&
    /^[0-9a-f]{40}$/.test(d.build_id)'
check "by object, from the stacks" js '(() => {
    const of = (id) => d.nodes.find((n) => n.id === id);
    const ms = 1e7, is = (id, self, total) => of(id).self === self * ms &&
        of(id).total === total * ms;
    return is("main.o", 0, 105) && is("libparts.a(hash.o)", 70, 72) &&
        is("libparts.a(parse.o)", 27, 98) && is("[kernel]", 3, 3); })()'
check "a name of two objects, and one of none, are unknown" js \
    'd.profile.unknown === 5e7'
check "self of all nodes and the unknown are the total" js '
    d.nodes.reduce((n, x) => n + x.self, 0) + d.profile.unknown +
    d.profile.beyond === d.profile.total && d.profile.beyond === 0 &&
    d.profile.total === 105e7'
check "calls by edge, declared or not" js '(() => {
    const of = (a, b) => d.edges.find((e) => e.from === a && e.to === b);
    return of("main.o", "libparts.a(parse.o)").calls === 98e7 &&
        of("libparts.a(parse.o)", "libparts.a(hash.o)").calls === 72e7 &&
        of("libparts.a(hash.o)", "libparts.a(parse.o)").kind === "seen" &&
        of("main.o", "[kernel]").kind === "seen"; })()'
# Weak, and nobody has them: the first file that asks does not define them.
echo 'int main(void) { return 0; }' | gcc -x c - -o "$T/hooks" \
    -Wl,--no-as-needed -lm -Wl,-Map="$T/hooks.map",--cref || exit 1
"$B/memlens" graph --depth all --map "$T/hooks.map" "$T/hooks" >"$T/hooks.dot"
check "hooks of the compiler are no need" [ "$(grep -c \
    '"crt[a-zA-Z]*.o" -> "libm' "$T/hooks.dot")" = 0 -a \
    "$(grep -c '"crtbeginS.o" -> "libc.so.6"' "$T/hooks.dot")" = 1 ]
code=$(size -A "$T/prog" | awk '$1 ~ /^\.(text|init|fini|plt.*)$/ {
    n += $2 } END { print n }')
check "bytes of its parts are those of its sections" js "
    d.nodes.filter((n) => /object|program/.test(n.kind)).reduce((n, x) =>
    n + x.bytes, 0) === $code"
plt=$(size -A "$T/prog" | awk '$1 ~ /^\.plt/ { n += $2 } END { print n }')
check "the table of calls is the program's, as its samples are" js "
    d.nodes.find((n) => n.id === 'prog').bytes >= $plt && $plt > 0 &&
    d.nodes.find((n) => n.id === 'Scrt1.o').bytes < 64"
get GET "/api/v1/graph.json?target=service&depth=all"
code_of_service=$(size -A "$B/kvservice" |
    awk '$1 ~ /^\.(text|init|fini|plt.*)$/ { n += $2 } END { print n }')
check "debug information is no code" js "
    d.nodes.filter((n) => /object|program/.test(n.kind)).reduce((n, x) =>
    n + x.bytes, 0) === $code_of_service"
get GET "/api/v1/graph.json?target=prog&depth=2&$ask"
check "what is deeper is said to be" js '(() => {
    const n = d.nodes.find((x) => /hash/.test(x.id));
    return !n && d.profile.beyond === 70e7 && d.nodes.reduce((s, x) =>
        s + x.self, 0) + d.profile.unknown + 70e7 === d.profile.total; })()'
b="from-b=1700000010&until-b=1700000020"
put "$T/stacks" "/ingest?name=prog.cpu&from=1700000010&until=1700000020&sampleRate=50"
differs()
{
	get GET "$graph&$ask&$b" && js 'd.profile_b.total === 210e7'
}
check "two ranges on one graph" await 60 differs
check "both have their amounts" js 'd.nodes.every((n) =>
    n.self_b === 2 * n.self && n.total_b === 2 * n.total)'
get GET "/api/v1/graph.dot?target=prog&depth=all&$ask&$b"
check "both shares in the text" grep -qF \
    '66.7 %)' "$T/body"
check "what nobody declares is dashed" grep -qF \
    '"main.o" -> "[kernel]" [class="seen", style=dashed' "$T/body"
get GET "$graph&$ask&from-b=1600000000&until-b=1600000010"
check "no data is null, not 0" js 'd.profile_b.state === "no data" &&
    d.profile_b.unknown === null && d.profile_b.beyond === null &&
    d.nodes.every((n) => n.self_b === null && n.total_b === null &&
        n.self !== null) && d.edges.every((e) => e.calls_b === null)'
get GET "/api/v1/graph.dot?target=prog&depth=all&$ask&from-b=1600000000&until-b=1600000010"
check "nor in the text" grep -qF '68.6 % → no data' "$T/body"
get GET "$graph&$ask&query-b=cpu%7Bservice%3D%22prog%22%7D&until-b=1700000010"
check "B begins where A does" js 'd.profile_b.from === 1700000000 &&
    d.profile_b.total === d.profile.total'
get GET "$graph&$ask&query-b=cpu%7Bservice%3D%22prog%22%7D"
check "and has A's range" js 'd.profile_b.total === d.profile.total'
get GET "$graph&$ask&until-b=abc"
check "until-b alone is read" status 400
check "and named" js 'd.field === "until-b"'
put "$T/stacks" "/ingest?name=else.cpu&$at&sampleRate=100"
everyone()
{
	get GET "$graph&query=cpu&$at" && js 'd.profile.total === 210e7'
}
check "all services" await 60 everyone
check "a main of nobody knows whom is unknown" js 'd.profile.unknown ===
    204e7 && d.nodes.find((n) => n.id === "main.o").total === 0'
get GET "/api/v1/graph.dot?target=prog&depth=all&$ask"
check "shares in the text" grep -qF \
    '"libparts.a(hash.o)" [class="object", label="libparts.a(hash.o)\n68.6 % (self 66.7 %)"' \
    "$T/body"
get GET "/api/v1/graph.dot?target=prog&depth=all&$ask&plain=1"
check "or room for them" sh -c "! grep -q '[0-9] %' '$T/body' &&
    grep -q '… % (self' '$T/body'"
get GET "$graph&$ask&node=libparts.a(parse.o)"
check "functions of a node" js 'd.node.functions === 2 &&
    d.node.rows.map((r) => [r.name, r.self / 1e7, r.total / 1e7]).join(" ") ===
    "parse,22,98 shared,5,5"'
get GET "$graph&$ask&function=step"
check "a function of several is of none" js 'd.function.name === "step" &&
    d.function.nodes.length === 1 && d.function.nodes[0].id === null &&
    d.function.nodes[0].self === 1e7'
get GET "$graph&$ask&function=parse&$b"
check "whose a function is, in both" js '[["nodes", 1], ["nodes_b", 2]].every(
    ([k, n]) => d.function[k].length === 1 &&
    d.function[k][0].id === "libparts.a(parse.o)" &&
    d.function[k][0].self === n * 22e7 &&
    d.function[k][0].total === n * 98e7)'
get GET "$graph&$ask&function=no_such"
check "a function that is in no stack" js 'd.function.nodes.length === 0'
drawn get GET "/api/v1/graph.svg?target=prog&depth=all&$ask"
check "a picture" grep -q '68.6 %' "$T/body"
cp "$T/body" "$T/painted.svg"
drawn get GET "/api/v1/graph.svg?target=prog&depth=all&$ask&plain=1"
mv "$T/body" "$T/plain.svg"
get GET "/api/v1/graph.dot?target=prog&depth=all&$ask"
cat >"$T/same.mjs" <<'END'
import { readFileSync } from 'node:fs';
const [painted, plain, dot] = process.argv.slice(2).map((f) =>
    readFileSync(f, 'utf8'));
const bare = (text) => text.replace(/ fill="#.*?"/g, '')
    .replace(/stroke-width="[^"]*" /g, '').replace(/>[^<>]*%[^<>]*</g, '><');
/* Clusters come in the order of addresses: another one in each process. */
const [a, b] = [painted, plain].map((text) => bare(text)
    .replace(/id="clust\d+"/g, '').split('\n').sort().join('\n'));
const at = [...a].findIndex((c, i) => c !== b[i]);
if (a !== b) throw Error('not one layout: ' + [a, b].map((t) => t.length +
    ' ' + t.slice(Math.max(0, at - 80), at + 160)).join('\n--\n'));
let n = 0;
for (const [, name, label, rest] of dot.matchAll(
    /^\t*"([^"]*)" \[class="[a-z]*", label="[^"]*?\\n([^"]*)"(.*)\];$/gm)) {
	const of = painted.replace(/&#45;/g, '-').replace(/&#45;/g, '-')
	    .split('<g id="node').find((g) => g.includes(`<title>${name}</title>`));
	const fill = (/fillcolor="(.*?)"/.exec(rest) || [0, '#eef3fb'])[1];
	if (!of.includes(`>${label}</text>`) || !of.includes(`fill="${fill}"`))
		throw Error(name + ': ' + label + fill + of);
	n++;
}
if (n < 8) throw Error(n + ' nodes');
END
check "it is the plain one in the colours and words of the text" node \
    "$T/same.mjs" "$T/painted.svg" "$T/plain.svg" "$T/body"
drawn get GET "/api/v1/graph.svg?target=prog&depth=all&$ask&$b"
check "of two, what moved" grep -q '68.6 % → 68.6 % (±0.0 pp)' "$T/body"
get GET "$graph"
check "without a profile there are no amounts" js \
    '!("profile" in d) && !("self" in d.nodes[0])'
get GET "$graph&query=cpu%7Bservice%3D%22none%22%7D&$at"
check "no such service is a 404" status 404
get GET "$graph&collapse=1"
check "packages" js 'd.nodes.some((n) => n.kind === "package" &&
    /^libc6 /.test(n.id)) && /--collapse/.test(d.command)'
get GET "/api/v1/graph.json?target=built&depth=all&$ask"
check "by target, from the source files of functions" js '(() => {
    const of = (id) => d.nodes.find((n) => n.id === id);
    return of("//:app").self === 0 && of("//:app").total === 101e7 &&
        of("//:parts").self === 98e7 && d.profile.unknown === 4e7 &&
        d.nodes.reduce((n, x) => n + x.self, 0) + d.profile.unknown ===
        d.profile.total; })()'
parts=0
for size in $(nm -S -l --defined-only "$T/prog" | awk '$3 ~ /^[tTwW]$/ &&
    /(parse|hash)\.c:/ && !seen[$1]++ { print $2 }'); do
	parts=$((parts + 16#$size))
done
check "bytes of a target are those of its functions" js "d.nodes.find((n) =>
    n.id === '//:parts').bytes === $parts && $parts > 0"
check "and all are the program's" js "d.nodes.filter((n) =>
    /target|program/.test(n.kind)).reduce((n, x) => n + (x.bytes || 0), 0) ===
    $code"
get GET "$graph&collapse=auto"
check "what can be read is not collapsed" js 'd.collapsed === false &&
    d.nodes.some((n) => n.id === "main.o")'
get GET "$graph&collapse=2"
check "collapse is 0, 1 or auto" js 'd.field === "collapse"'
printf '%s\n' 'main;parse(int) 5' 'main;parse(int) const;step(char) 3' \
    'main;step;step(char) 2' >"$T/cpp"
put "$T/cpp" "/ingest?name=cpp.cpu&$at&sampleRate=100"
named() # NAME
{
	get GET "$graph&query=cpu%7Bservice%3D%22cpp%22%7D&$at&function=$1"
}
overloads()
{
	named parse && js 'd.function.nodes.map((x) => [x.name, x.total / 1e7])
	    .join(" ") === "parse(int),5 parse(int) const,3"'
}
check "a function without its parameters, each that is called so" \
    await 60 overloads
named step
check "or that alone which is called so to the letter" js '
    d.function.nodes.map((x) => [x.name, x.total / 1e7]).join() === "step,2"'
get GET "/api/v1/graph.json?target=prog&depth=all"
same()
{
	command=$(js 'console.log(d.command)' | head -n 1)
	get GET "/api/v1/graph.dot?target=prog&depth=all"
	(memlens() { "$B/memlens" "$@"; }; eval "$command") >"$T/dot" &&
	    cmp "$T/dot" "$T/body"
}
check "the command prints what is shown" same
exit $bad
