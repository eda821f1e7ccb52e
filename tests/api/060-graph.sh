#!/bin/sh
# Dependency graphs.
. tests/api/lib
cp tests/data/kv_service-full.graph "$T/g"
gcc -shared -fPIC -x c /dev/null -o "$T/libgone.so"
echo 'int main(void) { return 0; }' |
    gcc -x c - -x none -o "$T/lame" -Wl,--no-as-needed "$T/libgone.so"
rm "$T/libgone.so"
printf '#!/bin/sh\nexit 0\n' >"$T/script"
cat >"$T/conf" <<-END
	[graph kv_service]
	bazel = $T/g
	[graph env]
	elf = kv
	[graph part]
	bazel = $PWD/tests/data/kv_service-depth3.graph
	[graph all]
	bazel = $T/g
	root = //executor/kv:kv_executor
	complete = yes
	[graph odd]
	elf = odd
	[graph lame]
	elf = $T/lame
	[graph script]
	elf = $T/script
	[graph rootless]
	bazel = $T/g
	root = //no:such
	[graph gone]
	elf = /nonexistent/program
	[graph large]
	bazel = $T/large
	END
awk 'BEGIN { print "digraph mygraph {"; for (i = 0; i < 20000; i++)
    printf "  \"//:a\" -> \"//:b%d\"\n", i; print "}" }' >"$T/large"
start -c "$T/conf"
get GET /api/v1/graph.json
check "the first target, two levels" js 'd.target === "kv_service" &&
    d.targets.join() ===
    "kv_service,env,part,all,odd,lame,script,rootless,gone,large" && d.depth === 2 &&
    d.nodes[0].id === "//service/kv:kv_service" &&
    d.nodes.every((n) => n.level <= 2)'

# The page once showed "bazel query ...", which nobody had run, and "complete"
# for depths that the file did not have.
same_by_command()
{
	get GET "/api/v1/graph.json?target=$1&depth=$2"
	js 'console.log(d.command) || true' | head -n 1 >"$T/command"
	get GET "/api/v1/graph.dot?target=$1&depth=$2"
	(memlens() { "$B/memlens" "$@"; }; . "$T/command") >"$T/dot" &&
	    cmp -s "$T/dot" "$T/body"
}
for target in kv_service env part all; do
	check "the command of $target prints all that is shown" \
	    same_by_command $target all
	check "the command of $target prints what is shown" \
	    same_by_command $target 3
done
get GET '/api/v1/graph.json?target=large'
check "20,000 nodes are cut, which is said with the bound" js '
    d.nodes.length === 8192 && d.complete === false &&
    /; there are more nodes than the 8192 that are kept/.test(d.source)'
"$B/memlens" graph "$T/large" >"$T/dot" 2>"$T/said"
check "by the command, too" grep -q \
    'known: a graph of bazel in .*; there are more nodes than the 8192 that' \
    "$T/said"
# What is needed was forgotten beyond as many, and stood at the top.
awk 'BEGIN { print "rule r\n command = r"; for (i = 0; i < 9000; i++)
    print "build x" i ": r s" i; printf "build app: r"
    for (i = 0; i < 9000; i++) printf " x%d", i; print "" }' >"$T/l.ninja"
"$B/memlens" graph --depth all "$T/l.ninja" >"$T/dot" 2>"$T/said"
check "nothing that is needed is a top of a large build" \
    [ "$(grep '"(default)" -> ' "$T/dot" | cut -d'"' -f4)" = app ]
get GET '/api/v1/graph.json?target=part&depth=4'
check "a file does not say whether it is all" js 'd.complete === null'
get GET '/api/v1/graph.json?target=all&depth=4'
check "an operator can say that it is" js 'd.complete === true &&
    d.nodes[0].id === "//executor/kv:kv_executor"'
get GET '/api/v1/graph.json?target=lame&depth=2'
check "a library that is not found: not all is known" js '!d.complete &&
    d.complete !== null && d.nodes.some((n) => /not found/.test(n.id))'
get GET '/api/v1/graph.json?target=env'
check "the file that was read, and its time" js '/\/env /.test(d.source) &&
    d.time > 1e9 && d.time < Date.now() / 1000 && d.complete === true'
get GET '/api/v1/graph.json?target=odd'
check "a file that is newer than its process is said to be" js '
    /newer than the process/.test(d.source) && d.complete === null'
get GET '/api/v1/graph.json'
check "every edge has its ends" js 'd.edges.length > 20 && d.edges.every((e) =>
    d.nodes.some((n) => n.id === e.from) && d.nodes.some((n) =>
    n.id === e.to))'
check "the condition of a select" js 'd.edges.some((e) =>
    e.label === "//chain/storage/setting:enable_leveldb_setting" &&
    e.kind === "condition")'
check "edges of the last level are marked" js '
    d.edges.filter((e) => e.last).length === 9 && d.edges.every((e) => !e.last ||
    d.nodes.some((n) => n.level === 2 && n.id === e.from))'
for depth in 3 4 all; do
	cp "$T/body" "$T/smaller"
	get GET "/api/v1/graph.json?depth=$depth"
	check "depth $depth is larger" [ $(wc -c <"$T/body") -gt \
	    $(wc -c <"$T/smaller") ]
done
get GET '/api/v1/graph.json?target=part&depth=3'
check "factored nodes are lines" js 'd.nodes.some((n) => n.label ===
    "//chain/storage/setting:enable_leveldb_setting\n//service/kv:kv_service.cpp")'
get GET '/api/v1/graph.json?depth=all'
check "all is all" js 'd.nodes.length === 235 && d.edges.length === 386 &&
    d.depth === "all" && !d.edges.some((e) => e.last)'
check "a label is of its package" js 'd.nodes.every((n) => n.id[0] === "@" ||
    n.package === n.id.split(":")[0])'
get GET '/api/v1/graph.json?depth=all&collapse=auto'
check "what is too much to read is packages" js 'd.collapsed &&
    d.nodes[0].id === "//service/kv" && d.nodes.length < 120 &&
    /--collapse/.test(d.command)'
get GET '/api/v1/graph.json?depth=3&collapse=auto'
check "but not what is not" js '!d.collapsed && d.nodes.length > 90'
for depth in 1 5 x '' -2; do
	get GET "/api/v1/graph.json?depth=$depth"
	check "depth=$depth is a 400" status 400
	check "depth=$depth names its field" js 'd.field === "depth"'
done
get GET '/api/v1/graph.json?target=nobody'
check "an unknown target is a 404" status 404
# "not yet" is for what can pass
get GET '/api/v1/graph.json?target=script'
check "a shell script is a 422" status 422
check "with its reason" js '/script is no ELF file/.test(d.detail)'
get GET '/api/v1/graph.json?target=rootless'
check "a root that the file has not is a 422" status 422
get GET '/api/v1/graph.json?target=gone'
check "a program that is gone is a 404" status 404
get GET '/api/v1/graph.json?target=env&depth=3'
check "libraries of a service's program" js 'd.nodes[0].id === "env" &&
    d.nodes.some((n) => n.id === "libc.so.6") && d.edges.length > 0'
get GET '/api/v1/graph.dot?depth=2'
check "dot" grep -q '"//service/kv:kv_service" -> "//executor' "$T/body"
drawn get GET '/api/v1/graph.svg?depth=3'
check "svg is well-formed" node tests/api/well-formed.mjs "$T/body"
check "svg" grep -q '^<svg width=' "$T/body"
check "svg type" header 'Content-Type: image/svg+xml'
tag=$(sed -n 's/^ETag: //p' "$T/head")
drawn get GET '/api/v1/graph.svg?depth=3' HTTP_IF_NONE_MATCH="$tag"
check "unchanged is a 304" status 304
touch -d '2020-01-01' "$T/g"
drawn get GET '/api/v1/graph.svg?depth=3' HTTP_IF_NONE_MATCH="$tag"
check "a new file is a new answer" status 200
echo 'digraph { "a' >"$T/g"
get GET /api/v1/graph.json
check "a file that is no graph is a 422" status 422
check "that names it" js 'd.field === "target" && /g is no graph/.test(d.detail)'
: >"$T/g"
get GET /api/v1/graph.json
check "an empty one too" status 422
exit $bad
