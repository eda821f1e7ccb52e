#!/bin/sh
# The playground's target over HTTPS, whose certificate is checked, and on a
# unix socket; and what a worker has of libcurl.
. tests/api/lib
command -v openssl >/dev/null || {
	echo "skip - no openssl"
	exit 77
}
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=target -addext \
    "subjectAltName = IP:127.0.0.1" -keyout "$T/key" -out "$T/ca" 2>"$T/openssl"
KEY="$T/key" CERT="$T/ca" run_target
# The worker with this configuration, in place of the one before.
playground()
{
	[ -z "$worker" ] || { kill "$worker"; wait "$worker"; }
	printf '[kv]\nallow-put = yes\ntimeout = 60s\n' >"$T/conf"
	printf '%s\n' "$@" >>"$T/conf"
	run_worker -p playground -c "$T/conf"
}
put()
{
	printf world >"$T/value"
	BODY="$T/value" get PUT /api/v1/kv/hello CONTENT_LENGTH=5
}
playground "target = https://127.0.0.1:$PORT" "ca = $T/ca"
put
check "put over HTTPS" js 'd.value === "world"'
get GET /api/v1/kv/hello
check "get over HTTPS" js 'd.value === "world" && d.latency_seconds > 0'
playground "target = https://127.0.0.1:$PORT"
get GET /api/v1/kv/hello
check "a certificate that nobody trusts is a 502" status 502
check "which says so" grep -qi certificate "$T/body"
playground "target = 127.0.0.1:$PORT"
get GET /api/v1/kv/hello
check "nor does it speak HTTP without" status 502
kill "$target"
wait "$target"
rm "$T/ready"
node tests/api/target.mjs "$T/target" >"$T/ready" &
target=$!
await 60 test -s "$T/ready"
playground "target = unix:$T/target"
put
check "put by a unix socket" js 'd.value === "world"'
get GET /api/v1/kv/hello
check "get by a unix socket" js 'd.value === "world"'
playground "target = example.org:80"
get GET /api/v1/kv/hello
check "a name is not looked up" status 502
# Workers that parse what strangers push have none of libcurl's libraries.
check "libcurl is loaded by who asks alone" sh -c \
    "! ldd '$B/memlens-fcgi' | grep -E 'curl|gnutls|ssh'"
exit $bad
