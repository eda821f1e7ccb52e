#!/bin/sh
# Workers are replaced; the parent stops them all.
. tests/api/lib
start -j 2
children()
{
	cat /proc/$worker/task/$worker/children
}
# two of them, none of which is $1
two()
{
	[ "$(children | wc -w)" -eq 2 ] || return
	for child in $1; do
		case " $(children) " in *" $child "*) return 1 ;; esac
	done
}
await 60 two
before=$(children)
check "two workers" [ $(echo $before | wc -w) -eq 2 ]
kill -9 ${before%% *}
check "a killed worker is replaced" await 60 two ${before%% *}
get GET /api/v1/health
check "and requests go on" status 200
await 60 two
before=$(children)
kill -9 $before
# One that dies may still take a connection with it: that is nginx's to ask
# again (110-nginx.sh).
await 60 two "$before"
get GET /api/v1/health
check "even when all were killed" status 200
await 60 two
before=$(children)
kill -HUP $worker
check "a reload replaces them" await 60 two "$before"
get GET /api/v1/health
check "and they answer" status 200
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
