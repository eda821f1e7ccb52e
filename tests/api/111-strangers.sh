#!/bin/bash
# Who asks under a name that nobody knows reads nothing, and what a page of
# another site makes a browser send is not taken; programs and our own pages
# are, also behind a proxy.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_stack
printf '[worker]\nhosts = perf.example.org\n' >>"$T/fcgi.conf"
kill -HUP $worker
start_nginx
ask()
{
	curl -s -o "$T/body" -D "$T/head.raw" "$@"
	sed 's/^HTTP[^ ]* /Status: /; s/\r$/ /' "$T/head.raw" >"$T/head"
}
listed()
{
	ask -H 'Host: perf.example.org' "$base/api/v1/health"
	status 200
}
check "a listed name is answered" await 60 listed
ask -H 'Host: evil.example:8080' "$base/api/v1/health"
check "any other is a 403" status 403
check "that says the line that would let it in" js 'd.field === "Host" &&
    d.detail.includes("hosts = perf.example.org evil.example")'
for path in /metrics /render?query=cpu /api/v1/kv/a; do
	ask -H 'Host: evil.example' "$base$path"
	check "so it is at $path" status 403
done
ask -H 'X-Forwarded-Host: evil.example' "$base/api/v1/health"
check "X-Forwarded-Host says nothing" status 200
ask -H 'Host: evil.example' -H 'X-Forwarded-Host: localhost' \
    "$base/api/v1/health"
check "neither way" status 403

# without a Host nginx calls itself "_", which is no name of anybody's
raw()
{
	exec 3<>"/dev/tcp/127.0.0.1/$PORT"
	printf "$1" >&3
	timeout 60 cat <&3 >"$T/answer"
	exec 3>&-
	grep -q "^HTTP/1.1 $2 " "$T/answer"
}
for path in /api/v1/health /metrics /api/v1/services; do
	check "HTTP/1.0 without a Host is answered at $path" \
	    raw "GET $path HTTP/1.0\r\n\r\n" 200
done
check "an old client's stranger is still one" \
    raw 'GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n' 403
ask -H 'Host: PERF.example.org.' "$base/metrics"
check "a dot at the end is the same name" status 200

printf 'main;work 10\n' >"$T/a.folded"
push="$base/ingest?name=app.cpu&from=1700000000&until=1700000010"
ask -H 'Origin: http://evil.example' --data-binary @"$T/a.folded" "$push"
check "a push by another site's page: 403" status 403
ask -H 'Sec-Fetch-Site: cross-site' --data-binary @"$T/a.folded" "$push"
check "told by Sec-Fetch-Site, too" status 403
ask -H 'Origin: null' --data-binary @"$T/a.folded" "$push"
check "and from a sandboxed frame" status 403
ask -H 'Origin: http://evil.example' -H 'Content-Type: application/json' \
    -d '{}' "$base/querier.v1.QuerierService/ProfileTypes"
check "Connect's questions: 403 with its code" js \
    'd.code === "permission_denied"'
ask -X OPTIONS -H 'Origin: http://evil.example' "$push"
check "a preflight: 403" status 403
stored="/api/v1/flamegraph.json?query=$(enc 'cpu{service="app"}')"
get GET "$stored&from=1700000000&until=1700000010"
check "nothing of it was stored" status 404

ask --data-binary @"$T/a.folded" "$push"
check "an agent's push: 200" status 200
get GET "$stored&from=1700000000&until=1700000010"
check "is stored" js 'd.flamebearer.numTicks > 0'
ask -H 'Content-Type: application/json' -d '{}' \
    "$base/querier.v1.QuerierService/ProfileTypes"
check "Grafana's question: 200" status 200
ask -H "Origin: $base" -H 'Sec-Fetch-Site: same-origin' \
    -d '{"name":"a","from":1700000000,"until":1700000010}' "$base/api/v1/runs"
check "a run by our own page: 200" status 200
ask -H "Origin: http://evil.example" \
    -d '{"name":"b","from":1700000000,"until":1700000010}' "$base/api/v1/runs"
check "by another's: 403" status 403

# a proxy in front, under a name of its own and a sub-path
free_port FRONT
mkdir -p "$T/front"
cat >"$T/front/nginx.conf" <<END
daemon off; user root; worker_processes 1; pid $T/front/pid;
error_log $T/front/error.log warn;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path $T/front/body;
	proxy_temp_path $T/front/proxy;
	fastcgi_temp_path $T/front/fastcgi;
	uwsgi_temp_path $T/front/uwsgi;
	scgi_temp_path $T/front/scgi;
	server {
		listen 127.0.0.1:$FRONT;
		location /memlens/ {
			proxy_pass $base/;
			proxy_set_header Host \$http_host;
		}
		location /plain/ { proxy_pass $base/; }
	}
}
END
"$nginx" -p "$T/front" -c "$T/front/nginx.conf" 2>>"$T/nginx.log" &
front=$!
trap 'kill $front; stop_stack' EXIT
in_front()
{
	path=$1
	shift
	ask -H 'Host: perf.example.org' "$@" "http://127.0.0.1:$FRONT$path"
}
proxied()
{
	in_front /memlens/api/v1/health
	status 200
}
check "behind a proxy that passes the Host on" await 60 proxied
run='{"name":"c","from":1700000000,"until":1700000010}'
in_front /memlens/api/v1/runs -H 'Origin: https://perf.example.org' -d "$run"
check "pages write" status 200
in_front /memlens/api/v1/runs -H 'Origin: https://evil.example' -d "$run"
check "strangers do not" status 403
in_front /plain/api/v1/runs -H 'Origin: https://perf.example.org' -d "$run"
check "behind one that does not, by the list" status 200
in_front /plain/api/v1/runs -H 'Origin: https://evil.example' -d "$run"
check "strangers do not there either" status 403
ask -H 'Host: evil.example' "http://127.0.0.1:$FRONT/memlens/api/v1/health"
check "nor read" status 403
exit $bad
