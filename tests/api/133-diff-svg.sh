#!/bin/sh
# A against B as a picture.
. tests/api/lib
END=1700000000
start
u=/api/v1/diff.svg
q=$(enc 'cpu{service="kv"}')
p=$(enc 'cpu{service="kv",pool="b"}')
a='from=1699998600&until=1699998700'
b='from-b=1699998700&until-b=1699998900'
body()
{
	grep -q -- "$1" "$T/body"
}
xml()
{
	node tests/api/well-formed.mjs "$T/body"
}
get GET "$u?query=$q&$a&$b"
check "type" header 'Content-Type: image/svg+xml'
check "well-formed" xml
check "how both are brought to one size is said" body '>Shares of each side'
check "and what widths are" body 'Widths: A and B together.</text>'
check "both sides, and nothing moved" body \
    '"=" class="few"><title>read (samples: A 30 50.00%, B 60 50.00%; +0 points; normalised +0%;'
check "few samples are marked" body \
    'class="few"><title>.*(samples: A 10 16.67%, B 20 16.67%;.* few samples)<'
get GET "$u?query=$q&$a&$b&normalise=time"
check "per second" body '>Per second of the time that has data'
get GET "$u?query=$q&$a&query-b=$p"
check "what is gone has a minus" body \
    '<title>read (samples: A 30 50.00%, B 0 0.00%; −50 points; normalised −100%'
get GET "$u?query=$q&$a&query-b=$p&widths=b"
check "and vanishes where widths are those of B" sh -c \
    "! grep -q '<title>read (' '$T/body'"
get GET "$u?query=$q&$a&$b&focus=read&reverse=1&title=x%3Cy"
check "shapes keep shares of the whole" body \
    '<title>read (samples: A 30 50.00%, B 60 50.00%;'
check "title" body '<title>x&lt;y</title>'
get GET "$u?query=$(enc 'cpu{service="quiet"}')&$a"
check "nothing to draw is said" body '>no data on either side</text>'
for bad_one in widths=c min-width=x normalise=x from-b=x; do
	get GET "$u?query=$q&$bad_one"
	check "$bad_one is a 400" status 400
	check "$bad_one names its field" js "d.field === '${bad_one%%=*}'"
done
get GET "/api/v1/diff.html?query=$q&$a&query-b=$p&title=%3Ct"
check "a page with the picture" body '<iframe title="Flame graph" height="[0-9]*" src="data:image/svg+xml;base64,'
check "as a file" header 'Content-Disposition: attachment; filename="diff-'
check "the largest change is first, with both sides" sh -c \
    "grep '<th scope=\"row\">' '$T/body' | head -1 | grep -q \
    'read</th><td>user</td><td>303</td><td>0</td><td>-50.00</td>.*<td>30</td></tr>'"
check "its title is text" body '<title>&lt;t</title>'
exit $bad
