#!/bin/sh
# A latency histogram as a heat map.  The store ends at a fixed time; each slot
# has 1 ms to 1 s, each millisecond once.
. tests/api/lib
END=1700000000
start
range='from=1699999400&until=1699999700'
q='/api/v1/heatmap.json?query=test_latency_seconds'
for bands in 1 4 32; do
	get GET "$q&$range&step=1m&bands=$bands"
	check "$bands bands: each cell is what is in it" js '
	    d.series === 1 && d.points.length === 5 && [0, 4].every((step) => {
	    const want = new Map();
	    for (let ms = 1; ms <= 1000; ms++) {
	      const v = ms / 1000, band = d.edges.findIndex((e, i) =>
	          e <= v && v < d.edges[i + 1]);
	      want.set(band, (want.get(band) || 0) + 6);
	    }
	    const got = d.cells.filter((c) => c[0] === step);
	    return got.length === want.size &&
	        got.every((c) => want.get(c[1]) === c[2]); })'
done
get GET "$q&$range"
check "steps add up to their points, and to the range" js '
    d.points.length === 30 && d.points.every((p, i) => d.cells.filter((c) =>
        c[0] === i).reduce((a, c) => a + c[2], 0) === p[8]) &&
    d.cells.reduce((a, c) => a + c[2], 0) === 20000'
check "edges rise, and bands are as narrow as said" js '
    d.edges.every((e, i) => i === 0 || (e > d.edges[i - 1] &&
        e / d.edges[i - 1] < 1.26))'
check "columns and unit are those of percentiles" js 'd.unit === "seconds" &&
    d.name === "test_latency_seconds" &&
    d.columns.join() === "time,p50,p90,p95,p99,p99.9,max,mean,count"'
check "a closed range has a tag" header 'ETag: "'
get GET "/api/v1/heatmap.json?query=test_none_seconds&$range"
check "nothing matches: no data" js 'd.series === 0 && !("cells" in d) &&
    d.state === "no data"'
for other in test_gauge_bytes node_cpu_seconds_total cpu; do
	get GET "/api/v1/heatmap.json?query=$other&$range"
	check "$other is no histogram" status 400
	check "and that names the field" js 'd.field === "query" &&
	    d.detail === "'$other' is no histogram"'
done
get GET '/api/v1/heatmap.json?query={__name__=~"test_(size_b|lat).*"}&'$range
check "two units have no histogram together" status 400
check "and that names the query" js 'd.field === "query"'
get GET "$q&$range&bands=3"
check "bands that are no power of two" status 400
get GET "$q&$range&bands="
check "no number of bands, and the worker lives" status 400
get GET "$q&$range&bands=256"
check "more bands than there are buckets" status 400
get GET "/api/v1/heatmap.json?$range"
check "a query is needed" status 400
