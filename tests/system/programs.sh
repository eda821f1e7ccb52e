#!/bin/bash
# A program that a rule names and that dies is told by health, and so is that
# it came back; both are marks.  A worker of it, and what no rule names, is not;
# nor is the end of one of several, or of one that was stopped on purpose.
# Those that listen are told apart by their ports.
. "$(dirname "$0")/daemon-lib.bash"
configure 500ms 500ms
# names of this run alone: the same test may run beside it
k=kept$((RANDOM % 900 + 100))
sed -i '/^\[cpu\]/,+1d' "$dir/conf" # it tells of ends
cat >>"$dir/conf" <<END
[service $k]
comm = ^$k
[service on$k]
comm = ^on$k
END
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$dir/on$k"
listener='import signal, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if len(sys.argv) > 2:
    time.sleep(6.5)
s.bind(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
s.listen()
if len(sys.argv) > 1:
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(int(sys.argv[1])))
print(s.getsockname()[1], flush=True)
time.sleep(1000)'
cp "$(readlink -f /bin/sleep)" "$dir/${k}one"
cp "$(readlink -f /bin/sleep)" "$dir/x$k"
cp "$(readlink -f /bin/bash)" "$dir/${k}shell"
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
ask() {
	REQUEST_METHOD=GET REQUEST_URI="/api/v1/$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d'
}
# becomes NAME PATH EXPRESSION : of the answer, as `d`
becomes() {
	asked() {
		ask "$1" >"$dir/answer"
		python3 -c 'import json, sys
d = json.load(open(sys.argv[2]))
why = d.get("reason", "")
marks = [(m["what"], m["text"].split()[1]) for m in d.get("marks", [])
	if m["service"] == "'"$k"'"]
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$2" "$dir/answer" 2>/dev/null
	}
	if await 60 asked "$2" "$3"; then ok "$1"; else not_ok "$1" "$(cat "$dir/answer")"; fi
}
marks='marks?what=began,ended,fewer'
begin "$dir/port1" "$dir/on$k" -c "$listener"
one=$last
begin "$dir/port2" "$dir/on$k" -c "$listener" 0
two=$last
begin "$dir/port3" "$dir/on$k" -c "$listener" 7
three=$last
begin "$dir/log" "$dir/${k}one" 1000
first=$last
begin "$dir/log" "$dir/x$k" 1000
other=$last
becomes "that it began is a mark" "$marks" "marks == [('began', '${k}one')]"
end "$first" KILL
end "$other" KILL
becomes "that it ended is told" health "'$k: ${k}one #1 (pid $first) ended (signal 9) at' in why
	and 'has not come back' in why and d['status'] == 'degraded' and
	'x$k' not in why"
begin "$dir/log" "$dir/${k}one" 1000
second=$last
becomes "that it came back, too" health "'came back as pid $second' in why"
becomes "and both are marks" "$marks" "marks == [('began', '${k}one'),
	('ended', '${k}one'), ('began', '${k}one')]"
# those that listen, all of one name: each is one by itself
port() { cat "$dir/port$1"; }
ports='[(m["what"], m["text"].split(" ", 1)[1].split(" #")[0]) for m in d["marks"]
	if m["service"] == "on'$k'"]'
becomes "who listens has his port" "$marks" "sorted($ports) == sorted(
	('began', 'on$k :%s' % p) for p in ($(port 1), $(port 2), $(port 3)))"
end "$one" KILL
end "$two"
end "$three"
becomes "killed, stopped, failed" 'marks?what=ended,fewer,stopped' "sorted($ports) == sorted([
	('ended', 'on$k :$(port 1) (signal 9)'), ('stopped', 'on$k :$(port 2) (status 0)'),
	('ended', 'on$k :$(port 3) (status 7)')])"
becomes "what was stopped on purpose is told, and is no trouble" health \
	"'(pid $one) ended' in why and '(pid $three) ended' in why and
	'(pid $two)' not in why and 'on$k: on$k :$(port 2) (pid $two) was stopped (status 0) at' in
	d['stopped'] and '(pid $one)' not in d['stopped']"
becomes "in the words of its mark" 'marks?what=ended,stopped' \
	"{(m['text'].split()[0], m['end'], m['trouble']) for m in d['marks']} >= {
	('$one', 'ended (signal 9)', True), ('$two', 'was stopped (status 0)', False)}"
# of two that are dead the second is begun again, and listens after a while
begin "$dir/port4" "$dir/on$k" -c "$listener" 7 "$(port 3)"
late=$last
becomes "who does not listen yet" 'marks?what=began' \
	"any(m['text'].startswith('$late on$k #') for m in d['marks'])"
becomes "brings back nobody" health "why.count('has not come back') == 2 and
	'pid $late' not in why"
becomes "as who listens he is the one of his port" health \
	"'on$k :$(port 3) (pid $three) ended (status 7) at' in why and
	'came back as pid $late' in why and why.count('has not come back') == 1"
end "$second"
becomes "nor what SIGTERM has ended" 'marks?what=stopped' \
	"marks == [('stopped', '${k}one')]"
becomes "as health shows" health "'(pid $second) ended' not in why"
# one of two, then the other
begin "$dir/log" "$dir/${k}shell" -c "$dir/x$k 60; :"
pair=$last
begin "$dir/log" "$dir/${k}shell" -c "$dir/x$k 60; :"
becomes "two of a name" "$marks" "marks[3:] == [('began', '${k}shell')] * 2"
end "$pair" KILL
becomes "one of them is not the service's end" "$marks" \
	"marks[5:] == [('fewer', '${k}shell')]"
becomes "nor is it told" health "'${k}shell' not in why"
end "$last" SEGV
becomes "the other is, and is told" health \
	"'${k}shell #' in why and '(pid $last) ended (signal 11) at' in why"
# a shell of the service that has a worker, which ends
begin "$dir/log" "$dir/${k}shell" -c "$dir/${k}one 9; $dir/x$k 40"
becomes "a program with a worker" "$marks" "marks[7:] == [('began', '${k}shell')]"
sleep 12
becomes "its worker's end is nobody's business" "$marks" \
	"marks[7:] == [('began', '${k}shell')]"
finish
