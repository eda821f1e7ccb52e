#!/bin/bash
# A run is named over HTTP: worker, memlensd's socket, store, and back.
. "$(dirname "$0")/daemon-lib.bash"
need_root "a daemon and a worker"
configure 200ms 200ms
chmod 755 "$dir"
start_daemon d -s "$dir/store"
cat >"$dir/fcgi.conf" <<-END
[collector]
socket = $dir/sock
[kv]
target = 127.0.0.1:1
allow-put = yes
END
begin "$dir/w.log" "$BUILD/memlens-fcgi" -c "$dir/fcgi.conf" -s "$dir/store" \
	-l "$dir/fcgi" -p all
await 60 grep -q " 00010000 .* $dir/fcgi\$" /proc/net/unix || not_ok "a worker" "$(cat "$dir/w.log")"

# ask METHOD URI [BODY]: the answer's body
ask() {
	printf '%s' "${3:-}" >"$dir/in"
	REQUEST_METHOD=$1 REQUEST_URI=$2 QUERY_STRING= \
		CONTENT_LENGTH=$(stat -c %s "$dir/in") \
		cgi-fcgi -bind -connect "$dir/fcgi" <"$dir/in" | sed '1,/^\r$/d'
}
list() { ask GET /api/v1/runs; }
has_run() { [ "$(list | jq -r "$1")" = "$2" ]; }
expect "no runs yet" "$(list | jq -c .runs)" '[]'

said=$(ask POST /api/v1/runs '{"name":"base","from":1700000000.5,
	"until":"2023-11-14T23:00:00Z","label":"one","rate_target":1000,
	"rate_reached":998.25,"client":"kvload","sysctls":{"vm.x":"1"}}')
expect "the answer is the run as kept" \
	"$(jq -c '[.name,.from,.until,.label,.rate_reached,.sysctls]' <<<"$said")" \
	'["base",1700000000.5,1700002800,"one",998.25,{"vm.x":"1"}]'
expect_text "the host adds its kernel" "$(jq -r .kernel <<<"$said")" "$(uname -r)"
expect_true "it is listed" await 60 has_run '.runs[0].name' base
expect "with all that was said" "$(list | jq -c '.runs[0]')" "$(jq -c . <<<"$said")"

ask POST /api/v1/runs '{"name":"base","from":1700000100,"until":1700000200}' >"$dir/out"
expect_true "a run of the same name replaces it" await 60 has_run '.runs[0].from' 1700000100
expect "and is the only one" "$(list | jq '.runs | length')" 1
expect_true "the host's settings are there where none are said" \
	has_run '.runs[0].sysctls | has("vm.swappiness")' true
ask POST /api/v1/runs '{"name":"other"}' >"$dir/out"
expect_true "newest range first" await 60 has_run '.runs[0].name' other
ask POST /api/v1/runs '{"name":"base","removed":true}' >"$dir/out"
expect_true "a run is taken away" await 60 has_run '.runs | map(.name) | join(",")' other
said=$(ask POST /api/v1/actions/latency-test '{"confirmed":true}')
expect "a latency test is kept" "$(jq -c '[.kept, .run.latency.sent]' <<<"$said")" \
	'[true,1]'
expect_true "and listed with all that was said" await 60 has_run \
	'.runs[] | select(.client == "MemLens") | [.name, .latency] | tojson' \
	"$(jq -r '.run | [.name, .latency] | tojson' <<<"$said")"
