#!/bin/sh
# Closed ranges are revalidated, ranges that touch now are not kept.
. tests/api/lib
start
q="query=$(enc 'cpu{service="kv"}')"
for u in "/api/v1/flamegraph.json?$q" "/api/v1/flamegraph.svg?$q" \
    "/api/v1/series?query=test_gauge_bytes" "/api/v1/services?x="; do
	page=${u%%\?*}
	get GET "$u"
	check "$page up to now is no-store" header 'Cache-Control: no-store'
	now=$(date +%s)
	uri="$u&from=$((now - 5000))&until=$((now - 3600))"
	get GET "$uri"
	check "$page, closed, is no-cache" header 'Cache-Control: no-cache'
	tag=$(sed -n 's/^ETag: //p' "$T/head")
	check "$page has a strong tag" [ "${tag#\"}" != "$tag" ]
	for form in "$tag" "\"x\", W/$tag" '*'; do
		get GET "$uri" HTTP_IF_NONE_MATCH="$form"
		check "$page: $form is a 304" status 304
		check "$page: without a body" [ ! -s "$T/body" ]
	done
	get GET "$uri" HTTP_IF_NONE_MATCH='"other"'
	check "$page: another tag is a 200" status 200
	get GET "$uri&more=1" HTTP_IF_NONE_MATCH="$tag"
	check "$page: another request has another tag" status 200
done
exit $bad
