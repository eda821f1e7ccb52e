#!/bin/bash
# A flame graph of one control group, of several by an expression, of all
# others.
. tests/api/lib
. tests/api/stack
start_stack
at="from=1610000000&until=1610000010"

# of GROUP COUNT
push()
{
	printf 'main;work %d\n' "$2" >"$T/stacks"
	put "$T/stacks" "/ingest?name=$(enc "db.cpu{cgroup=$1}")&$at&sampleRate=100"
}
push /system.slice/kv.service 3
push /system.slice/web.service 40
push /user.slice/user-0.slice 500

has()
{
	got=$(counted "$1" 1610000000 1610000010)
	[ "$got" = "$2" ] || { echo "# $1: $got, not $2"; return 1; }
}
check "without a filter: all of them" has 'cpu{service="db"}' 543
check "one group" has 'cpu{service="db",cgroup="/system.slice/kv.service"}' 3
check "those below a slice" has 'cpu{cgroup=~"/system[.]slice/.*"}' 43
check "all but one" has 'cpu{cgroup!="/system.slice/kv.service"}' 540
check "expressions are anchored" has 'cpu{cgroup=~"/system"}' 0
check "none of that name" has 'cpu{cgroup="/system.slice"}' 0
q=$(enc 'cpu{cgroup="/system.slice/web.service"}')
get GET "/api/v1/table.json?query=$q&$at"
check "in a table too" grep -q '[^0-9]40[^0-9]' "$T/body"
exit $bad
