#!/bin/sh
# Options and configuration.
. tests/api/lib
fcgi="$B/memlens-fcgi"
says()
{
	"$@" >"$T/body" 2>&1
}
printf '[kv]\ntarget = 127.0.0.1:1\n[graph x]\nelf = /bin/true\n' >"$T/c"
check "-n accepts a configuration" says "$fcgi" -n -c "$T/c"
check "-n without one" says "$fcgi" -n
check "the example is accepted" says "$fcgi" -n -c fcgi/memlens-fcgi.conf
printf '[kv]\ntarget = a:1\nallow-put = perhaps\n' >"$T/c"
"$fcgi" -n -c "$T/c" >"$T/body" 2>&1
check "an error is a 1" [ $? -eq 1 ]
check "an error has its place" grep -q "$T/c:3: .*perhaps" "$T/body"
printf '[graph x]\n' >"$T/c"
printf '[graph x]\nelf = a\nbazel = b\n' >"$T/c"
"$fcgi" -n -c "$T/c" >"$T/body" 2>&1
check "one of elf and bazel" grep -q 'one of elf and bazel' "$T/body"
"$fcgi" -j 0 >"$T/body" 2>&1
check "usage errors are a 2" [ $? -eq 2 ]
"$fcgi" -p playground -j 3 >"$T/body" 2>&1
check "the playground has one process" [ $? -eq 2 ]
"$fcgi" -p nowhere >"$T/body" 2>&1
check "unknown pool" [ $? -eq 2 ]
check "-h" says "$fcgi" -h
check "--version" says "$fcgi" --version
"$fcgi" </dev/null >"$T/body" 2>&1
check "no socket is an error" grep -q 'no listening socket' "$T/body"
touch "$T/file"
"$fcgi" -l "$T/file" >"$T/body" 2>&1
check "a file is not replaced by a socket" grep -q 'is no socket' "$T/body"
run_worker
"$fcgi" -l "$T/sock" >"$T/body" 2>&1
check "a living socket is not taken" grep -q 'listens there' "$T/body"
kill -9 $worker; wait $worker 2>/dev/null; worker=
# Its children are told by the kernel, and have the socket until they are gone.
deserted()
{
	! listening
}
check "its children end with it" await 60 deserted
run_worker
get GET /api/v1/health
check "a dead one is" status 200
printf '[kv]\nnonsense = 1\n' >"$T/c"
kill $worker; wait $worker; worker=
printf '[kv]\nallow-put = yes\n' >"$T/c"
run_worker -c "$T/c"
printf '[kv]\nnonsense = 1\n' >"$T/c"
kill -HUP $worker
check "a bad configuration is told" \
    await 60 grep -q 'the old configuration stays' "$T/log"
get PUT /api/v1/kv/a
check "and not taken up" status 404
printf '[kv]\nallow-put = no\n' >"$T/c"
kill -HUP $worker
answers()
{
	get PUT /api/v1/kv/a
	status 403
}
check "a good one is" await 60 answers
exit $bad
