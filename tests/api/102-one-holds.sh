#!/bin/sh
# Questions one after another are one worker's: what it holds of the store, the
# others of its pool do not hold, too.
. tests/api/lib
start -j 3
children()
{
	cat /proc/$worker/task/$worker/children
}
# All wait for a question: in poll(2), epoll_wait(2) or epoll_pwait(2).
all_wait()
{
	[ "$(children | wc -w)" -eq 3 ] || return
	for child in $(children); do
		case $(cut -d ' ' -f 1 /proc/$child/syscall 2>/dev/null) in
		7 | 232 | 281) ;;
		*) return 1 ;;
		esac
	done
}
holders()
{
	for child in $(children); do
		! ls -l /proc/$child/fd | grep -q " $T/store/" || echo $child
	done
}
for i in $(seq 12); do
	await 60 all_wait || check "three workers wait" false
	get GET "/api/v1/flamegraph.json?query=cpu"
	status 200 || check "question $i" false
done
check "one worker holds the store" [ "$(holders | wc -w)" -eq 1 ]
first=$(holders)
# Where that one is away the next one answers.
kill -STOP "$first"
get GET "/api/v1/flamegraph.json?query=cpu"
check "a worker that is away is not waited for" status 200
kill -CONT "$first"
check "another one has it then" [ "$(holders | wc -w)" -eq 2 ]
exit $bad
