#!/bin/sh
# The parts of any partition add up to the whole, to the nanosecond and to the
# sample.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
ticks()
{
	get GET "/api/v1/flamegraph.json?query=$q&from=$1&until=$2"
	node -p '((d) => d.flamebearer.numTicks === d.memlens.samples * 10101010
	    ? d.flamebearer.numTicks : "samples that are none")(
	    JSON.parse(require("fs").readFileSync(process.argv[1])))' "$T/body"
}
whole=$(ticks 1699996000 1699999000)
sum=0
from=1699996000
for until in 1699996003 1699996004.5 1699996011 1699997177 1699997178.25 \
    1699998999 1699999000; do
	sum=$((sum + $(ticks $from $until)))
	from=$until
done
check "parts add up ($sum of $whole)" [ "$sum" -eq "$whole" ]
exit $bad
