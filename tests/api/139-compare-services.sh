#!/bin/sh
# One instance against another, and one service against another: the same
# figures of both beside each other, each as its own points add up to.
. tests/api/lib
END=1700000000
start
range='from=1699999400&until=1699999480'
a='{service="kv",instance="a"}' b='{service="kv",instance="b"}'
pair="query=$(enc "$a")&query-b=$(enc "$b")&show=all"
# points SELECTOR FN FROM UNTIL: values of each slot, null where there is none
points()
{
	get GET "/api/v1/series?query=$(enc "$1")&fn=$2&from=$3&until=$4"
	node -p 'JSON.stringify(JSON.parse(require("fs").readFileSync(
	    process.argv[1])).series[0].points.map((p) => p[1]))' "$T/body"
}
# naive NAME LABELS FROM UNTIL: means by counts, increases by seconds
naive()
{
	case $1 in
	*_total) fns='increase increase' ;;
	*) fns='mean count' ;;
	esac
	set -- $1 "$2" $3 $4 $fns
	values=$(points "$1$2" $5 $3 $4)
	counts=$(points "$1$2" $6 $3 $4)
	node -p 'const [v, n] = process.argv.slice(2).map((s) => JSON.parse(s));
	    const sum = (f) => v.reduce((s, x, i) => s + (x === null ? 0 : f(i)), 0);
	    process.argv[1].endsWith("_total") ? sum((i) => v[i]) / sum(() => 10)
	        : sum((i) => v[i] * n[i]) / sum((i) => n[i])' "$1" "$values" "$counts"
}
same() # NAME OTHER-RANGE: is its row what was added by hand?
{
	wa=$(naive $1 "$a" 1699999400 1699999480)
	wb=$(naive $1 "$b" ${2:-1699999400} ${3:-1699999480})
	cp "$T/compared" "$T/body"
	js "(() => { const r = d.rows.find((x) => x.name === '$1');
	    return near(r.value[0], $wa) && near(r.value[1], $wb) &&
	    near(r.difference, $wb - $wa); })()"
}
get GET "/api/v1/compare.json?$range&$pair"
cp "$T/body" "$T/compared"
check "rows are of both, without what a side is alone" js \
    'd.rows.every((r) => !("instance" in r.labels) &&
    r.labels.service === "kv") && d.rows.filter((r) => /^two_/.test(r.name) &&
    r.value.every((v) => v !== null)).length === 2 &&
    d.counts["only in B"] === 0'
check "which is told of the side" js 'd.a.labels.instance === "a" &&
    d.b.labels.instance === "b" && !("service" in d.a.labels)'
for name in two_bytes two_ops_total; do
	check "$name as its points add up to" same $name
done
get GET "/api/v1/compare.json?$range&from-b=1699999000&until-b=1699999100&$pair"
cp "$T/body" "$T/compared"
check "another range of another one" same two_bytes 1699999000 1699999100
get GET "/api/v1/compare.json?$range&query=$(enc "$b")&query-b=$(enc "$a")&show=all"
cp "$T/body" "$T/turned"
get GET "/api/v1/compare.json?$range&$pair"
turned()
{
	node -e 'const [a, b] = process.argv.slice(1).map((f) =>
	    JSON.parse(require("fs").readFileSync(f)).rows.map((r) =>
	    [r.name, ...r.value]).sort());
	require("assert").deepEqual(a, b.map(([n, x, y]) => [n, y, x]))' \
	    "$T/body" "$T/turned"
}
check "turned round it is the same" turned
get GET "/api/v1/compare.json?$range&query=$(enc "$a")&query-b=$(enc '{service="kv"}')&show=all"
check "what only one side demands is matched as it is" js \
    'd.rows.filter((r) => r.labels.instance === "b").every((r) =>
    r.verdict === "only in B") && d.rows.some((r) =>
    r.labels.instance === "a" && r.verdict === "same") &&
    Object.keys(d.a.labels).length === 0'
get GET "/api/v1/compare.json?$range&query=$(enc '{service="kv"}')&query-b=$(enc '{service="quiet"}')&show=all"
check "a service beside another" js 'd.a.labels.service === "kv" &&
    d.b.labels.service === "quiet" && d.rows.every((r) =>
    !("service" in r.labels))'
get GET "/api/v1/compare.json?$range&query-b=$(enc '{service')"
check "a bad one is told as B's" js 'd.field === "query-b"'
# profiles: shares of each side are those of the side alone
get GET "/api/v1/diff.json?$range&query=$(enc 'cpu{service="kv"}')&query-b=$(enc 'cpu{service="quiet"}')"
cp "$T/body" "$T/diff"
whole() { get GET "/api/v1/flamegraph.json?$range&max-nodes=-1&query=$(enc "cpu{service=\"$1\"}")"
	node -p 'JSON.parse(require("fs").readFileSync(process.argv[1]))
	    .flamebearer.numTicks' "$T/body"; }
ta=$(whole kv) tb=$(whole quiet)
cp "$T/diff" "$T/body"
check "profiles of two services: each side's total is its own" js \
    "d.leftTicks === $ta && d.rightTicks === $tb && $ta > 0"
exit $bad
