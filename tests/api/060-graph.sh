#!/bin/sh
# Dependency graphs.
. tests/api/lib
cp tests/data/kv_service.graph "$T/g"
cat >"$T/conf" <<-END
	[graph kv_service]
	bazel = $T/g
	[graph env]
	elf = kv
	[graph gone]
	elf = /nonexistent/program
	END
start -c "$T/conf"
get GET /api/v1/graph.json
check "the first target, two levels" js 'd.target === "kv_service" &&
    d.targets.join() === "kv_service,env,gone" && d.depth === 2 &&
    d.nodes[0].id === "//service/kv:kv_service" &&
    d.nodes.every((n) => n.level <= 2) && d.complete'
check "the command that made it" js 'd.command === "bazel query " +
    "--notool_deps --noimplicit_deps --output graph " +
    "\"deps(//service/kv:kv_service, 2)\""'
check "every edge has its ends" js 'd.edges.length > 20 && d.edges.every((e) =>
    d.nodes.some((n) => n.id === e.from) && d.nodes.some((n) =>
    n.id === e.to))'
check "the condition of a select" js 'd.edges.some((e) =>
    e.label === "//chain/storage:with_leveldb")'
for depth in 3 4; do
	cp "$T/body" "$T/smaller"
	get GET "/api/v1/graph.json?depth=$depth"
	check "depth $depth is larger" [ $(wc -c <"$T/body") -gt \
	    $(wc -c <"$T/smaller") ]
done
check "factored nodes are lines" js 'd.nodes.some((n) =>
    /protoc_minimal\n\.\.\.and 3 more items$/.test(n.label))'
for depth in 1 5 x '' -2; do
	get GET "/api/v1/graph.json?depth=$depth"
	check "depth=$depth is a 400" status 400
	check "depth=$depth names its field" js 'd.field === "depth"'
done
get GET '/api/v1/graph.json?target=nobody'
check "an unknown target is a 404" status 404
get GET '/api/v1/graph.json?target=gone'
check "a program that is gone is a 404" status 404
get GET '/api/v1/graph.json?target=env&depth=3'
check "libraries of a service's program" js 'd.nodes[0].id === "env" &&
    d.nodes.some((n) => n.id === "libc.so.6") && d.edges.length > 0'
get GET '/api/v1/graph.dot?depth=2'
check "dot" grep -q '"//service/kv:kv_service" -> "//executor' "$T/body"
get GET '/api/v1/graph.svg?depth=4'
check "svg is well-formed" node tests/api/well-formed.mjs "$T/body"
check "svg" grep -q '^<svg width=' "$T/body"
check "svg type" header 'Content-Type: image/svg+xml'
tag=$(sed -n 's/^ETag: //p' "$T/head")
get GET '/api/v1/graph.svg?depth=4' HTTP_IF_NONE_MATCH="$tag"
check "unchanged is a 304" status 304
touch -d '2020-01-01' "$T/g"
get GET '/api/v1/graph.svg?depth=4' HTTP_IF_NONE_MATCH="$tag"
check "a new file is a new answer" status 200
echo 'digraph { "a' >"$T/g"
get GET /api/v1/graph.json
check "a damaged file is told" status 503
exit $bad
