#!/bin/bash
# How soon a dependency graph is there, with what its nodes cost: the first
# answer of a worker that has just begun, and the same again, of a picture in
# colours that of another range; of ResilientDB's own graph, and of a made one
# of 1,000 nodes, as packages and node by node.
#
#	graph.sh BUILD
#
# NODES=1000 TIMES=15   of the made graph; answers again
#
# Milliseconds that pass, through nginx.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
export BUILD
nodes=${NODES:-1000} times=${TIMES:-15}
. tests/live/port.sh
free_port PORT
. tests/api/lib
. tests/api/stack
. tests/bench/lib.sh
awk -v n="$nodes" -f tests/bench/graph.awk >"$T/made.graph"
cp tests/data/kv_service-full.graph "$T/real.graph"
awk 'BEGIN { for (i = 0; i < 3000; i++)
	print "main;turn;f" i % 40 ";g" i % 300 ";h" i, 1 + i % 7 }' >"$T/stacks"
start_daemon
cat >"$T/fcgi.conf" <<-END
	[collector]
	socket = $T/memlensd.sock
	[graph real]
	bazel = $T/real.graph
	[graph made]
	bazel = $T/made.graph
	END
run_worker -c "$T/fcgi.conf"
start_nginx
at="from=1700000000&until=1700000010"
later="from=1700000010&until=1700000020"
curl -sf -o /dev/null --data-binary "@$T/stacks" \
	"$base/ingest?name=app.cpu&$at&sampleRate=100" || exit 1
awk '{ print $1, 1 + NR * NR % 97 }' "$T/stacks" | curl -sf -o /dev/null \
	--data-binary @- "$base/ingest?name=app.cpu&$later&sampleRate=100" || exit 1

# took URI : ms that its answer takes
took() {
	curl -sf -o "$T/body" -w '%{time_total}\n' "$base/api/v1/$1" |
		awk '{ printf "%.1f\n", 1000 * $1 }'
}
# measure NAME URI [URI] : a worker anew, then again, or the other
measure() {
	local first
	kill "$worker"
	wait "$worker" 2>/dev/null
	run_worker -c "$T/fcgi.conf"
	curl -sf -o /dev/null "$base/api/v1/health"
	first=$(took "$2") || { echo "graph: no answer: $2" >&2; return; }
	row "$1, first" "$first" ms
	for ((i = 0; i < times; i++)); do took "${3:-$2}"; done >"$T/numbers"
	SPREAD=$(spread <"$T/numbers") row "$1, again" \
		"$(sort -g "$T/numbers" | sed -n "$((times / 2 + 1))p")" ms \
		goal 300
}
cost="query=cpu%7Bservice%3D%22app%22%7D&$at"
other="query=cpu%7Bservice%3D%22app%22%7D&$later"
await 60 curl -sf -o /dev/null "$base/api/v1/graph.json?target=real&$other"
# forms NAME PARAMETERS
forms() {
	measure "$1, json" "graph.json?$2&$cost"
	measure "$1, svg" "graph.svg?$2&$cost&plain=1"
	measure "$1, in colours" "graph.svg?$2&$cost" "graph.svg?$2&$other"
}
forms "ResilientDB, depth 4" "target=real&depth=4"
forms "ResilientDB, all" "target=real&depth=all"
forms "$nodes nodes as packages" "target=made&depth=all&collapse=auto"
forms "$nodes nodes one by one" "target=made&depth=all"
