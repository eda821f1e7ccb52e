#!/bin/sh
# The operator's own command, and nothing of whoever asks for it.
. tests/api/lib
. tests/api/stack
SLOT=500ms start_daemon
collector=$T/nobody
worker_with() # LINES OF [fault]
{
	[ -z "$worker" ] || { kill $worker; wait $worker; }
	printf '[collector]\nsocket = %s\n[fault]\n' "$collector" >"$T/conf"
	printf '%s\n' "$@" >>"$T/conf"
	run_worker -c "$T/conf"
}
fault()
{
	printf '%s' "$1" >"$T/in"
	shift
	BODY=$T/in get POST /api/v1/actions/fault \
	    CONTENT_LENGTH="$(wc -c <"$T/in")" HTTP_HOST=localhost "$@"
}
cat >"$T/break.sh" <<-END
	#!/bin/sh
	echo "\$# \$1 \$2" >>$T/did
	case \$1 in
	slow) sleep 300 & echo \$! >$T/slept
		setsid sh -c 'sleep 301 & echo \$! >$T/away; wait' &
		wait ;;
	bytes) printf 'a\377b\000\303\251\n'; exit 0 ;;
	cut) printf '%0399d\303\251' 7; exit 0 ;;
	nap) touch $T/napping; sleep 2; echo slept ;;
	say) printf '%0500d' 7; exit 3 ;;
	limits) ulimit -c; ulimit -d; grep NoNewPrivs /proc/self/status ;;
	esac
	echo broke
END
chmod 755 "$T/break.sh"
did() { [ -e "$T/did" ]; }
worker_with
fault '{"confirmed":true}'
check "nothing is configured" status 403
worker_with "command = $T/break.sh   one  \$(reboot);"
get GET /api/v1/actions/fault
check "a GET breaks nothing" status 405
fault '{"confirmed":true}' HTTP_ORIGIN=http://evil
check "another site breaks nothing" status 403
for body in '{}' '{"confirmed":1}' '{"confirmed":"true"}'; do
	fault "$body"
	check "not confirmed: $body" js 'd.field === "confirmed"'
done
fault 'confirmed'
check "no object" status 415
fault '{"confirmed":true}'
check "whose moment nobody would keep is not done" status 503
sleep 0.2
check "indeed" eval '! did'
collector=$T/memlensd.sock
worker_with "command = $T/break.sh   one  \$(reboot);"
fault '{"confirmed":true,"command":"/bin/false","time":9}'
check "it is carried out" js 'd.kept && d.run.fault.status === 0 &&
    d.run.fault.said === "broke\n" && d.run.label === "fault run"'
check "by words, no shell reads them" \
    grep -qx '2 one $(reboot);' "$T/did"
check "the slot in which it was is between before and after" js '(() => {
    const { at, before: b, after: a } = d.run.fault;
    return b.until <= at && at + d.run.fault.took < a.from &&
    a.from - at - d.run.fault.took <= 0.5 && at - b.until < 0.5 &&
    b.until - b.from === 60 && a.until - a.from === 60 &&
    b.until % 0.5 === 0 && d.run.from === b.from && d.run.until === a.until; })()'
check "it says that nothing else overlaps" js '/ended with status 0 after .* s; the [0-9.]+ s .* are in neither range$/
    .test(d.run.notes)'
cp "$T/body" "$T/run"
marked()
{
	get GET '/api/v1/marks?what=fault'
	js 'd.marks.length === 1 && d.marks[0].text === "break.sh"'
}
check "its moment is a mark, of the file's name alone" await 20 marked
same()
{
	node -e 'const [a, b] = process.argv.slice(1).map((f) =>
	    JSON.parse(require("fs").readFileSync(f)));
	require("assert").deepEqual(a.run, b.runs[0])' "$T/run" "$T/body"
}
get GET /api/v1/runs
check "and a run is kept as it was answered" same
worker_with "command = $T/break.sh say" "span = 95200ms"
fault '{"confirmed":true}'
check "its failure is told, and the beginning of what it says" js \
    'd.run.fault.status === 3 && d.run.fault.said.length === 400 &&
    near(d.run.fault.after.until - d.run.fault.after.from, 95.5)'
check "it says that the other one was not over" js \
    '/; the range after "fault 20[^"]*" (overlaps with the range before and )?has what this fault did in it$/
    .test(d.run.notes)'
worker_with "command = $T/break.sh limits"
fault '{"confirmed":true}'
memory=262144
! sanitized || memory=unlimited # what they map would be over any limit
check "with limits, and no right more" js \
    "/^0\n$memory\nNoNewPrivs:\t1\n/.test(d.run.fault.said)"
worker_with "command = $T/break.sh slow" "time = 1s"
fault '{"confirmed":true}'
check "what takes too long is killed" js 'd.run.fault.late &&
    d.run.fault.status === null && d.run.fault.took >= 1'
check "the time after begins when it has ended" js '(() => {
    const { at, took, after: a, before: b } = d.run.fault;
    return a.from >= at + took && a.until - a.from === 60 &&
    b.until <= at && b.until - b.from === 60; })()'
ended() { ! kill -0 "$(cat "$T/slept")" 2>/dev/null; }
check "with all that it has started" await 20 ended
away() { ! kill -0 "$(cat "$T/away")" 2>/dev/null; }
check "also what has left its session" await 20 away
worker_with "command = $T/break.sh bytes"
fault '{"confirmed":true}'
check "what is no text is shown by its bytes" js \
    'd.run.fault.said === "a\\xffb\\x00\u00e9\n"'
worker_with "command = $T/break.sh cut"
fault '{"confirmed":true}'
check "half a letter is no byte" js 'd.run.fault.said.length === 399'
# a client that does not wait for it
worker_with "command = $T/break.sh nap"
printf '{"confirmed":true}' >"$T/first"
REQUEST_METHOD=POST REQUEST_URI=/api/v1/actions/fault HTTP_HOST=localhost \
    CONTENT_LENGTH=18 cgi-fcgi -bind -connect "$T/sock" <"$T/first" \
    >"$T/first.answer" &
first=$!
await 20 test -e "$T/napping"
kill -9 $first
wait $first 2>/dev/null
kept()
{
	get GET /api/v1/runs
	js 'd.runs.some((r) => r.fault.said === "slept\nbroke\n")'
}
check "a run is kept though its client has gone" await 20 kept
worker_with "command = $T/break.sh slow" "time = 8s"
printf '{"confirmed":true}' >"$T/first"
REQUEST_METHOD=POST REQUEST_URI=/api/v1/actions/fault HTTP_HOST=localhost \
    CONTENT_LENGTH=18 cgi-fcgi -bind -connect "$T/sock" <"$T/first" \
    >"$T/first.answer" &
first=$!
refused()
{
	fault '{"confirmed":true}'
	status 409
}
check "one at a time" await 6 refused
wait $first
worker_with "command = $T/nothing"
fault '{"confirmed":true}'
check "no such program" js 'd.run.fault.status === 127 &&
    /No such file/.test(d.run.fault.said)'
printf '[fault]\ncommand = reboot\n' >"$T/conf"
"$B/memlens-fcgi" -n -c "$T/conf" >"$T/body" 2>&1
check "a path from the root" grep -q 'from the root' "$T/body"
exit $bad
