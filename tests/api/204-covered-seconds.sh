#!/bin/bash
# A rate is over the seconds that the data covers: a slot that has none yet,
# behind the data or before it, is no time, though the range cuts it.
. tests/api/lib
. tests/api/stack
start_stack
printf 'm;a 200\n' >"$T/a"
put "$T/a" "/ingest?name=app.cpu&from=1700000000&until=1700000020"
q=$(enc 'cpu{service="app"}')

# FROM UNTIL SECONDS AMOUNT: A is all of the data
covers()
{
	get GET "/api/v1/diff.json?query=$q&normalise=time&from=1700000000&until=1700000020&from-b=$1&until-b=$2"
	js "d.a.seconds === 20 && d.b.seconds === $3"
}
check "the range ends in a slot without data" covers 1700000005 1700000025 15
check "and begins in one" covers 1699999995 1700000015 15
check "the range is within the data" covers 1700000003 1700000017 14
check "and around it" covers 1699999985 1700000045 20
exit $bad
