#!/bin/bash
# What waits to be sealed has one bound for all services: beyond it a push is
# a 429 that says when it will be over, nothing of it is stored, health says
# why, and what was taken before is whole.
. tests/api/lib
. tests/api/stack
SLOT=100ms STORE_LINES='max-open = 2MiB' start_stack
# push N: of a service of its own, some 20,000 nodes that nobody had
push()
{
	now=$(date +%s)
	awk -v seed="$1" 'BEGIN { for (i = 0; i < 900; i++) {
	    for (d = 0; d < 22; d++)
		printf "%sname_of_a_function_%d_%d_%d", d ? ";" : "", seed, i, d
	    print " 1" } }' >"$T/big.folded"
	put "$T/big.folded" "/ingest?name=s$1&from=$now&until=$now"
}
for i in $(seq 12); do
	push "$i"
	status 200 || break
done
check "beyond the bound: 429" status 429
check "after some that were taken" [ "$i" -gt 1 ]
check "which says what waits" grep -q "max-open is 2 MB: again in" "$T/body"
again=$(sed -n 's/^Retry-After: \([0-9]*\).*/\1/p' "$T/head")
text=$(sed -n 's/.*again in \([0-9]*\) s.*/\1/p' "$T/body")
check "the header says what the text does" [ "${again:-0}" = "${text:-1}" ]
check "at most the journal's slots and its seal" [ "${again:-99}" -le 8 ]
# What waits is soon sealed: more of it comes until health was asked in time.
health()
{
	push "$((more++))"
	get GET /api/v1/health && grep -q "max-open" "$T/body"
}
more=100
check "health says it" await 10 health
get GET "/api/v1/services?from=$((now - 60))&until=$((now + 60))"
check "what was taken is there" grep -q '"s1"' "$T/body"
check "nothing is stored of it" [ "$(grep -c "\"s$i\"" "$T/body")" = 0 ]
sleep "${again:-1}"
push "$i"
check "when that time is over: 200" status 200
health_well()
{
	get GET /api/v1/health && ! grep -q "max-open" "$T/body"
}
check "and health is well" await 10 health_well
exit $bad
