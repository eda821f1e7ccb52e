#!/bin/bash
# A push that has waited for a worker until its sender gives up is a 429, not
# a profile that is stored after the sender was told that it was not.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_stack
start_nginx
node tests/api/requests.mjs "$T" || exit 1
ingest="/ingest?name=app.cpu&from=1700000000&until=1700000010"
long=$(($(date +%s) - 25)).5

put "$T/a.folded" "$ingest" MEMLENS_SENT=$long
check "too long a wait: 429" status 429
check "and when to come again" header "Retry-After:"
check "and why" js '/before a worker was free/.test(d.detail)'
put "$T/push.bin" /push.v1.PusherService/Push \
    CONTENT_TYPE=application/proto MEMLENS_SENT=$long
check "Connect: 429" status 429
check "as a code" js 'd.code === "resource_exhausted"'
put "$T/a.folded" "$ingest" MEMLENS_SENT="$(($(date +%s) + 60)).123"
check "a short one: 200" status 200
put "$T/a.folded" "$ingest" MEMLENS_SENT=
check "one of which nothing is said: 200" status 200
through_nginx()
{
	curl -sf -o "$T/body" --data-binary @"$T/a.folded" "$base$ingest"
}
check "what nginx sends on is in time" await 60 through_nginx
n=$(counted 'cpu{service="app"}' 1700000000 1700000010)
check "what was refused has not come in ($n)" [ "$n" = 15 ]
check "refusals are counted with their reason" await 60 refused 2 ^overload
exit $bad
