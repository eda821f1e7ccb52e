#!/bin/sh
# The picture of a call tree.
. tests/api/lib
END=1700000000
start
u=/api/v1/flamegraph.svg
range='from=1699998600&until=1699998700'
xml()
{
	node tests/api/well-formed.mjs "$T/body"
}
get GET "$u?query=$(enc 'cpu{service="kv"}')&$range"
check "type" header 'Content-Type: image/svg+xml'
check "it may run its own script and nothing else" \
    header "Content-Security-Policy: default-src 'none'"
check "well-formed" xml
check "samples and percent in the title" \
    grep -q '<title>read (30 samples, 50.00%, 0.303 s)</title>' "$T/body"
get GET "$u?query=$(enc 'cpu{service="odd"}')&$range"
check "any bytes in names" xml
get GET "$u?query=$(enc 'cpu{service="quiet"}')&$range"
check "nothing to draw is said" grep -q '>zero</text>' "$T/body"
get GET "$u?query=cpu&$range&title=$(enc '<&>')&width=500&min-width=2&orientation=up"
check "title" grep -q '<title>&lt;&amp;&gt;</title>' "$T/body"
check "width" grep -q 'width="500"' "$T/body"
for p in width=10 width=x min-width=-1 min-width=nan orientation=left; do
	get GET "$u?query=cpu&$p"
	check "$p is a 400" status 400
	check "$p names its field" js "d.field === '${p%%=*}'"
done
exit $bad
