#!/bin/bash
# Three databases of one rule are three figures beside their sum; one keeps
# its name when it, or the daemon, is started again.
. "$(dirname "$0")/daemon-lib.bash"
need_root "descriptors of other processes"
. tests/live/port.sh
configure 500ms 250ms
tag=${dir##*.}
cat >>"$dir/conf" <<END2
[services]
show-arguments = yes
[service db]
command = /tmp\.$tag/db\.py
END2
cat >"$dir/db.py" <<'END2'
"""db.py PORT MIB: listens, and holds so much; a child of it holds more."""
import os, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', int(sys.argv[1])))
s.listen(5)
if os.fork() == 0:
    s.close()
held = bytearray(int(sys.argv[2]) << 20)
for i in range(0, len(held), 4096):
    held[i] = 1
time.sleep(1000)
END2
ports=() dbs=()
begin_db() { # NUMBER
	begin /dev/null python3 "$dir/db.py" "${ports[$1]}" "$((($1 + 1) * 20))"
	dbs[$1]=$last
}
end_db() { # NUMBER: its child too
	local child
	child=$(pgrep -P "${dbs[$1]}")
	end "${dbs[$1]}" KILL
	kill -9 $child
}
for i in 0 1 2; do free_port port; ports+=("$port"); done
for i in 0 1 2; do begin_db $i; done
# rss NAME: the newest whole MiB of a series
blocks() { mlb "$dir/rec" blocks 4 memory_bytes 2>/dev/null; }
rss() {
	blocks | grep -F "$1" | tail -n 1 | sed "s/.*'last': \([0-9]*\).*/\1/"
}
instance() { rss "memlens_instance_memory_bytes{instance=\":$1\",memtype=\"resident\",service=\"db\"}"; }
whole() { # NUMBER: both of its processes hold what they should
	local v
	v=$(instance "${ports[$1]}")
	[ -n "$v" ] && [ "$v" -ge $((($1 + 1) * 40 << 20)) ] &&
		[ "$v" -lt $(((($1 + 1) * 40 + 60) << 20)) ]
}
all_whole() { whole 0 && whole 1 && whole 2; }
start_daemon one -s "$dir/store" -w "$dir/rec"
daemon=$last
expect_true "three databases, three figures" await 120 all_whole
sum_is() {
	local one=0 i v group
	blocks >"$dir/now"
	blocks() { cat "$dir/now"; }
	for i in 0 1 2; do
		v=$(instance "${ports[$i]}")
		one=$((one + v))
	done
	group=$(rss 'namegroup_memory_bytes{groupname="db",memtype="resident",service="db"}')
	blocks() { mlb "$dir/rec" blocks 4 memory_bytes 2>/dev/null; }
	[ "$one" = "$group" ]
}
expect_true "the group's is their sum" await 120 sum_is

end_db 0; end_db 2; end_db 1
gone() { sum=$(pgrep -fc "$dir/db.py"); [ "$sum" = 0 ]; }
await 20 gone
for i in 2 0 1; do begin_db $i; done
expect_true "started again in another order they keep their names" \
	await 120 all_whole
end "$daemon"
start_daemon two -s "$dir/store" -w "$dir/rec2"
daemon=$last
blocks() { mlb "$dir/rec2" blocks 4 memory_bytes 2>/dev/null; }
expect_true "and when the daemon is started again" await 120 all_whole
end "$daemon"
for i in 0 1 2; do end_db $i; done
