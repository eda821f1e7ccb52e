#!/bin/bash
# The whole way: nginx with our locations before real workers.
. tests/api/lib
. tests/live/port.sh
free_port PORT
nginx=$(PATH=$PATH:/usr/sbin:/sbin command -v nginx) || {
	echo "skip - nginx: not installed"
	exit 77
}
mkdir -p "$T/nginx" "$T/log" "$T/sockets" "$T/www"
cp nginx/memlens-locations.conf /etc/nginx/mime.types \
    /etc/nginx/fastcgi_params "$T/nginx/"
sed "s,@RUN@,$T,g; s,@LISTEN@,127.0.0.1:$PORT,g; s,^user .*,user root;," \
    nginx/memlens-run.conf.in >"$T/nginx/nginx.conf"
echo hello >"$T/www/index.html"
chmod 755 "$T"
pids=
launch()
{
	"$@" 2>>"$T/log/errors" &
	pids="$pids $!"
}
trap 'kill $pids 2>/dev/null; finish' EXIT
launch node tests/api/target.mjs >"$T/ready"
await 60 test -s "$T/ready"
KVPORT=$(cat "$T/ready")
cat >"$T/conf" <<-END
	[kv]
	target = 127.0.0.1:$KVPORT
	allow-put = yes
	[graph kv_service]
	bazel = $PWD/tests/data/kv_service-full.graph
	END
fill
launch "$B/memlens-fcgi" -s "$T/store" -p query -j 2 -c "$T/conf" \
    -l "$T/sockets/query.sock"
query=$!
launch "$B/memlens-fcgi" -s "$T/store" -p health -c "$T/conf" \
    -l "$T/sockets/health.sock"
launch "$B/memlens-fcgi" -s "$T/store" -p playground -c "$T/conf" \
    -l "$T/sockets/playground.sock"
launch "$nginx" -p "$T/nginx" -c "$T/nginx/nginx.conf"
base=http://127.0.0.1:$PORT
up()
{
	curl -sf -o /dev/null "$base/api/v1/health" &&
	    [ -S "$T/sockets/playground.sock" ]
}
await 60 up

ask()
{
	curl -s -g --path-as-is -o "$T/body" -D "$T/head.raw" "$@"
	sed 's/^HTTP[^ ]* /Status: /; s/\r$/ /' "$T/head.raw" |
	    sed 's/ $//; s/^\(Status: [0-9]*\)$/\1 /' >"$T/head"
}
ask "$base/api/v1/health"
check "health" status 200
ask "$base/api/v1/nope"
check "our errors pass" js 'd.error === "not found"'
ask -X PUT --data-binary 'v' "$base/api/v1/kv/a%2Fb//c"
check "a key keeps its slashes" js 'd.key === "a/b//c" && d.value === "v"'
ask "$base/api/v1/kv/a%2Fb//c"
check "both ways" js 'd.key === "a/b//c" && d.value === "v"'
for k in ..%2Fhealth x%2F..%2F..%2Fservices ..%2F..%2F..%2Findex.html; do
	ask -X PUT --data-binary "$k" "$base/api/v1/kv/$k"
	check "$k is a key" js 'd.key === decodeURIComponent("'$k'")'
	ask "$base/api/v1/kv/$k?a=b"
	check "and found" js 'd.value === "'$k'"'
done
ask -X PUT --data-binary v "$base/api/v1/kv/%2E%2E"
check ".. is refused by name" js '/^"\.\." cannot be/.test(d.detail)'
ask "$base/api/v1/kv/.."
check "as it stands, too" js '/^"\.\." cannot be/.test(d.detail)'
ask -H 'Origin: http://evil.example' -X PUT --data-binary v "$base/api/v1/kv/a"
check "another site may not write" status 403
ask -H "Origin: $base" -X PUT --data-binary v "$base/api/v1/kv/a"
check "our pages may" status 200
ask -I "$base/api/v1/health"
check "HEAD" status 200

u="$base/api/v1/flamegraph.json?query=cpu&from=1000000000&until=$(($(date +%s) - 3600))"
ask --compressed "$u"
tag=$(sed -n 's/^ETag: //p' "$T/head")
check "a closed range has a tag" [ -n "$tag" ]
check "caches are told how it may differ" header "Vary: Accept-Encoding"
ask --compressed -H "If-None-Match: $tag" "$u"
check "and is revalidated, compressed or not" status 304

ask "$base/api/v1/flamegraph.svg?query=cpu"
check "one policy, the picture's own" [ "$(grep -ci \
    '^content-security-policy' "$T/head")" -eq 1 ]
check "it lets its script run" header \
    "Content-Security-Policy: .*script-src 'unsafe-inline'"
drawn ask "$base/api/v1/graph.svg?depth=4"
check "a large picture comes whole" grep -q '</svg>' "$T/body"

sanitized && exit $bad
# Workers are killed while requests go on, one worker for two answers, so that
# a request meets one death at most, however slow the machine is.
echo 0 >"$T/answers"
(killed=0
while :; do
	for pid in $(cat /proc/$query/task/$query/children); do
		until [ "$(cat "$T/answers")" -ge $killed ] 2>/dev/null; do
			sleep 0.002
		done
		kill -9 "$pid" && killed=$(($(cat "$T/answers") + 2))
		# one that is dying may take one more request along
		while [ -e "/proc/$pid" ]; do sleep 0.002; done
		sleep 0.01
	done
done 2>/dev/null) &
killer=$!
failures=0
for i in $(seq 120); do
	code=$(curl -s -o /dev/null -w '%{http_code}' "$base/api/v1/services")
	[ "$code" = 200 ] || failures=$((failures + 1))
	echo $i >"$T/answers.new" && mv "$T/answers.new" "$T/answers"
done
kill $killer
wait $killer 2>/dev/null
: >"$T/body"
check "killed workers are not noticed ($failures of 120)" [ $failures = 0 ]
exit $bad
