#!/bin/sh
# /metrics: families of one type each, in one piece; what was a histogram or a
# summary where it was scraped is one again, as promtool reads it.
. tests/api/lib
END=$(($(date +%s) + 60))
start
get GET /metrics
check "the page" status 200
check "text format 0.0.4" header 'Content-Type: text/plain; version=0.0.4'
# type FAMILY : its type, each time that it is said
type() { sed -n "s/^# TYPE $1 //p" "$T/body"; }
check "a histogram, once" [ "$(type x_seconds)" = histogram ]
check "a summary, once" [ "$(type lag_seconds)" = summary ]
check "a counter" [ "$(type two_ops_total)" = counter ]
check "a gauge" [ "$(type two_bytes)" = gauge ]
check "a sum alone is a counter" [ "$(type alone_sum)" = counter ]
check "parts of a family are not others" \
	[ -z "$(type x_seconds_bucket)$(type x_seconds_sum)$(type lag_seconds_sum)" ]
# Each line belongs to the family before it, and no family comes twice.
astray=$(awk '$1 == "#" { f = $3; t = $4; if (seen[f]++) print "again", f; next }
	{ n = $1; sub(/\{.*/, "", n); p = n
	  if (t == "histogram") sub(/_(bucket|sum|count)$/, "", p)
	  if (t == "summary") sub(/_(sum|count)$/, "", p)
	  if (p != f) print n, "is below", f }' "$T/body")
check "each line is in its family" [ -z "$astray" ]
for part in 'x_seconds_bucket{le="0.5"' 'x_seconds_sum{' 'x_seconds_count{' \
	'lag_seconds{quantile="0.99"' 'lag_seconds_sum{' 'lag_seconds_count{'; do
	check "$part is there once" [ "$(grep -cF "$part" "$T/body")" = 1 ]
done
check "buckets rise to +Inf" [ "$(sed -n 's/^x_seconds_bucket{le="\([^"]*\).*/\1/p' \
	"$T/body" | tr '\n' ' ')" = "1e-3 0.5 2 10 +Inf " ]
# promtool's complaints of names and missing help are of whoever named them.
if command -v promtool >/dev/null; then
	promtool check metrics <"$T/body" >"$T/lint" 2>&1
	check "promtool understands it" test $? -ne 1
	check "and sees no part outside of its family" \
		[ -z "$(grep -E '^(x|lag)_seconds.*(non-histogram|non-summary)' "$T/lint")" ]
else
	echo "skip - promtool understands it: not installed"
fi
exit $bad
