#!/bin/sh
# Workers are replaced; the parent stops them all.
. tests/api/lib
start -j 2
children()
{
	cat /proc/$worker/task/$worker/children
}
sleep 0.2
before=$(children)
check "two workers" [ $(echo $before | wc -w) -eq 2 ]
kill -9 ${before%% *}
sleep 0.2
check "a killed worker is replaced at once" [ $(children | wc -w) -eq 2 ]
get GET /api/v1/health
check "and requests go on" status 200
kill -9 $(children)
get GET /api/v1/health
check "even when all were killed" status 200
kill -HUP $worker
sleep 0.3
get GET /api/v1/health
check "a reload replaces them" status 200
kill $worker
wait $worker
check "SIGTERM ends it in order" [ $? -eq 0 ]
worker=
check "and removes the socket" [ ! -e "$T/sock" ]
run_worker -m 3 -j 1
for i in 1 2 3 4 5 6 7; do
	get GET /api/v1/health
	status 200 || check "request $i of workers that end after 3" false
done
check "workers end after so many requests" true
exit $bad
