#!/bin/bash
# A recorded file replayed twice gives byte-identical answers, without root.
set -u
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d)
trap 'kill ${workers:-} 2>/dev/null; wait 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
ok() { echo "ok - $1"; }
no() { echo "not ok - $1"; }
# Root steps down: replay needs no right at all.
user=()
if [ "$(id -u)" = 0 ]; then
	user=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
	chown nobody:nogroup "$T"
fi
install -m 755 "$BUILD"/{memlensd,memlens,memlens-fcgi} "$BUILD/api/fill_store" "$T/"

# A recording whose content is known: two hours with gaps.
end=1700000000
"${user[@]}" "$T/fill_store" "$T/source" $end 720 &&
	"${user[@]}" "$T/memlens" export "$T/source" 0 now "$T/record" 2>/dev/null ||
	no "a recording is made"
echo "[socket]" >"$T/conf"
echo "path =" >>"$T/conf"
for i in a b; do
	"${user[@]}" "$T/memlensd" -f "$T/conf" -s "$T/$i" -r "$T/record" \
		>"$T/log.$i" 2>&1 || { no "replay $i"; cat "$T/log.$i"; }
	"${user[@]}" "$T/memlens-fcgi" -s "$T/$i" -l "$T/$i.sock" -p query -j 1 \
		2>>"$T/log.$i" &
	workers="${workers:-} $!"
done
listening() { # STORE... : a socket is there before it can be connected to
	local s
	for s in "$@"; do
		for _ in $(seq 600); do
			grep -q " 00010000 .* $T/$s.sock\$" /proc/net/unix && break
			sleep 0.1
		done
	done
}
listening a b

ask() { # STORE URI: body and type of the answer
	REQUEST_METHOD=GET REQUEST_URI="$2" SCRIPT_NAME="${2%%\?*}" \
		QUERY_STRING="${2#*\?}" cgi-fcgi -bind -connect "$T/$1.sock"
}
from=$((end - 7200))
cpu='cpu%7Bservice%3D%22kv%22%7D'
n=0
while read -r uri; do
	n=$((n + 1))
	ask a "$uri" >"$T/answer.a"
	ask b "$uri" >"$T/answer.b"
	if [ -s "$T/answer.a" ] && cmp -s "$T/answer.a" "$T/answer.b" &&
		! grep -q '^Status: [45]' "$T/answer.a"; then
		ok "twice the same: ${uri%%\?*} ($n)"
	else
		no "twice the same: ${uri%%\?*} ($n)"
		head -c 300 "$T/answer.a"
	fi
done <<END
/api/v1/services?from=$from&until=$end
/api/v1/flamegraph.json?query=$cpu&from=$from&until=$end&max-nodes=-1
/api/v1/flamegraph.json?query=$cpu&from=$((from + 3))&until=$((end - 1234))
/api/v1/flamegraph.svg?query=$cpu&from=$from&until=$end
/api/v1/series?query=%7Bservice%3D~%22.*%22%7D&from=$from&until=$end&step=60
END
# And the same as what was recorded.
ask a "/api/v1/flamegraph.json?query=$cpu&from=$from&until=$end" |
	grep -o '"numTicks":[0-9]*' >"$T/ticks.a"
"${user[@]}" "$T/memlens-fcgi" -s "$T/source" -l "$T/s.sock" -p query -j 1 &
workers="$workers $!"
listening s
ask s "/api/v1/flamegraph.json?query=$cpu&from=$from&until=$end" |
	grep -o '"numTicks":[0-9]*' >"$T/ticks.s"
if [ -s "$T/ticks.a" ] && cmp -s "$T/ticks.a" "$T/ticks.s"; then
	ok "a replayed store answers as the recorded one"
else
	no "a replayed store answers as the recorded one"
fi
