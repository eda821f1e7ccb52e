#!/bin/bash
# @pyroscope/nodejs from npm pushes to us unchanged: wall, CPU and heap.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
[ -d tests/api/node/node_modules ] || {
	echo "skip - the agent: npm ci has not been run in tests/api/node"
	exit 77
}
node -e 'require("./tests/api/node/node_modules/@datadog/pprof")' \
    2>/dev/null || {
	echo "skip - the agent: no native module for node $(node --version)"
	exit 77
}
start_stack
start_nginx
begin=$(date +%s)
node tests/api/node/agent.cjs "$base" >"$T/agent.log" 2>&1 &
agent=$!
# profiles that were taken until now
taken()
{
	get GET "/api/v1/series?query=memlens_ingest_profiles_total&fn=increase&from=$((begin - 10))&until=$(($(date +%s) + 20))"
	node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).series
	    .flatMap((s) => s.points).reduce((a, p) => a + (p[1] || 0), 0)' \
	    "$T/body"
}
for i in $(seq 120); do
	[ "$(taken)" -ge 6 ] && break
	kill -0 $agent 2>/dev/null || break
	sleep 1
done
check "several profiles were taken" [ "$(taken)" -ge 6 ]
kill -9 $agent 2>/dev/null
wait $agent 2>/dev/null
# What it sent last may still be on its way to the store.
before=
until [ "$(taken)" = "$before" ]; do
	before=$(taken)
	sleep 1
done
end=$(($(date +%s) + 1))

flame()
{
	get GET "/api/v1/flamegraph.json?query=$(enc "$1{service=\"node.test\"$2}")&from=$((begin - 10))&until=$((end + 10))&max-nodes=-1"
}
# ns of hotLoop itself, of the next of the program's own functions, and of
# the tree: on a busy machine all else may be large
ns='(() => { const f = d.flamebearer, self = {};
    for (const l of f.levels) for (let i = 0; i < l.length; i += 4)
	self[f.names[l[i + 3]]] = (self[f.names[l[i + 3]]] || 0) + l[i + 2];
    const own = Object.entries(self).filter(([n]) => /agent.cjs/.test(n));
    const sum = (re) => own.reduce((a, [n, v]) => a + (re.test(n) ? v : 0), 0);
    return {hot: sum(/hotLoop/), rest: sum(/^(?!.*hotLoop)/),
	all: f.numTicks,
	parts: Object.values(self).reduce((a, b) => a + b, 0)}; })()'
flame wall
check "wall: it is there" js "$ns.all > 0"
check "wall: hotLoop has most of the program" js "$ns.hot > $ns.rest"
check "wall: no more than there was" js \
    "$ns.all <= 1.5e9 * ($end - $begin)"
check "wall: what frames have adds up" js \
    "$ns.parts === d.flamebearer.numTicks"
wall=$(node -p "const d = JSON.parse(require('fs').readFileSync('$T/body'));
    $ns.all")
flame wall ',region="eu"'
check "its tag is a label" js "$ns.all === $wall"
flame wall ',"otel.scope.name"="com.grafana.pyroscope/nodejs"'
check "labels with dots and slashes too" js "$ns.all === $wall"
flame cpu
check "cpu: hotLoop has most of the program" js "$ns.hot > $ns.rest"
check "cpu: no more than two processors' worth" js \
    "$ns.all <= 2e9 * ($end - $begin)"
flame inuse_space
check "heap: bytes in use" js 'd.memlens.unit === "bytes" &&
    d.flamebearer.numTicks > 0'
check "heap: as a stock" js 'd.memlens.kind === "stock"'
check "heap: who holds them" js \
    'd.flamebearer.names.some(n => /keepAlive/.test(n))'
flame inuse_objects
check "heap: objects" js 'd.flamebearer.numTicks > 0'
get GET "/api/v1/series?query=memlens_ingest_refused_total&fn=increase&from=$((begin - 10))&until=$((end + 20))"
check "none refused" js 'd.series.length === 0'
exit $bad
