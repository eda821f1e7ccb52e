#!/bin/bash
# Many stacks of one service take nothing from the questions about others,
# and how many a slot takes is said.
. tests/api/lib
. tests/api/stack
sanitized && {
	echo "skip - neighbour: limits of memory are not those of sanitizers"
	exit 77
}
start_daemon
cat >"$T/fcgi.conf" <<-END
[collector]
socket = $T/memlensd.sock
END
run_worker -j 1 -c "$T/fcgi.conf"
app='/api/v1/flamegraph.json?query=cpu%7Bservice%3D%22app%22%7D&from=1700000000&until=1700000020'

echo 'main;work 7' >"$T/app.folded"
put "$T/app.folded" '/ingest?name=app&from=1700000000&until=1700000010'
check "a quiet service" status 200
stacks()
{
	awk -v seed="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) {
	    for (d = 0; d < 25; d++)
		printf "%sname_of_a_function_%d_%d_%d", d ? ";" : "", seed, i, d
	    print " 1" } }' >"$T/big.folded"
}
for i in 1 2 3 4; do
	stacks $i 14000
	put "$T/big.folded" \
	    '/ingest?name=big&from=1700000000&until=1700000010'
	status 200 || break
done
check "a full slot: 413" status 413
check "which no retry changes" [ "$(grep -c '^Retry-After: ' "$T/head")" = 0 ]
check "of which service" grep -q 'service big' "$T/body"
check "after a million nodes" [ "$i" = 4 ]
put "$T/app.folded" '/ingest?name=app&from=1700000010&until=1700000020'
check "another service's pushes are taken" status 200
stop_worker()
{
	kill $worker
	wait $worker
}
# a worker whose memory one tenth of big's stacks would fill
stop_worker
cat >>"$T/fcgi.conf" <<-END
[worker]
memory = 48MiB
cache = 16MiB
END
run_worker -j 1 -c "$T/fcgi.conf"
get GET "$app"
check "the quiet service's question is answered" status 200
check "and right" js 'd.flamebearer.names.includes("work") &&
    !d.flamebearer.names.some((n) => n.startsWith("name_of"))'
get GET '/labels'
check "labels of all: no stack is needed" status 200
get GET '/label-values?label=service'
check "nor for their values" status 200
# big's own takes more than there is: that is said before it is tried
crew()
{
	cat "/proc/$worker/task/$worker/children"
}
before=$(crew)
for what in flamegraph.json flamegraph.folded table.json diff.json; do
	range='from=1700000000&until=1700000020'
	[ $what != diff.json ] || range="$range&from-b=1700000000&until-b=1700000020"
	get GET "/api/v1/$what?query=cpu%7Bservice%3D%22big%22%7D&$range"
	check "$what of too many stacks: 413" status 413
	check "$what: which field, and what to do" \
	    js 'd.field === "from" && /shorter range/.test(d.detail)'
done
check "by a worker that goes on" [ "$(crew)" = "$before" ]
get GET "$app"
check "and answers the quiet service's question" status 200
exit $bad
