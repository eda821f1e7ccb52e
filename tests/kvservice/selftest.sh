#!/usr/bin/env bash
# Checks kvservice and kvload by their interfaces: every route by curl, the
# quirks, crash and respawn, and whether kvload's counts add up with the
# service's own. Needs curl. Prints "ok - name" or "not ok - name" a case.
#
# B is the build folder (build); KVSERVICE and KVLOAD name the programs.

cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
KVSERVICE=$(realpath "${KVSERVICE:-$B/kvservice}") || exit 1
KVLOAD=$(realpath "${KVLOAD:-$B/kvload}") || exit 1
tmp=$(mktemp -d) || exit 1
cd "$tmp" || exit 1
main=			# pid of what was started, kv-respawn or service
failed=0

finish()
{
	[ -n "$main" ] && kill "$main" 2>/dev/null && wait "$main"
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM

# check NAME COMMAND...: ok if the command succeeds
check()
{
	local name=$1
	shift
	if "$@" >check.out 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		sed 's/^/# /' check.out | head -20
		failed=1
	fi
}

# equal WANT COMMAND...: the command's output is WANT
equal()
{
	local want=$1 got
	shift
	got=$("$@")
	[ "$got" = "$want" ] && return
	printf 'want %s\ngot  %s\n' "$want" "$got"
	return 1
}

# start OPTIONS...: sets main, pid, U (key-value), S (stats)
start()
{
	local n=0 port stats
	rm -f ready
	"$KVSERVICE" --port 0 --stats-port 0 --db db --ready-file ready "$@" \
	    >service.out 2>&1 &
	main=$!
	while [ ! -e ready ] && [ $n -lt 100 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	read -r pid port stats <ready || return 1
	U=http://127.0.0.1:$port/v1/transactions
	S=http://127.0.0.1:$stats
	kvport=$port
}

stop()
{
	kill "$main"
	wait "$main"
	code=$?
	main=
	return $code
}

restart()
{
	stop
	start "$@"
}

get() { curl -s -m 5 "$@"; }
status() { curl -s -m 5 -o /dev/null -w '%{http_code}' "$@"; }
type_of() { curl -s -m 5 -o /dev/null -w '%{content_type}' "$@"; }
set_body() { curl -s -m 5 -d "$1" -w ' %{http_code}' "$U/commit"; }

# The number of member NAME in kvload's report, at its first place.
number()
{
	sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" report | head -1
}

# The member NAME of the line that begins with KEY.
member()
{
	grep "^ *\"$1\": {" report | head -1 |
	    sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p"
}

# Our own counter, by its line's beginning.
counter()
{
	get "$S/metrics" | awk -v want="$1" '$1 == want { print $2 }'
}

# round_trip ID-AS-JSON ID PATH: set, the answer, the stored body
round_trip()
{
	local body="{\"id\":\"$1\",\"value\":\"v of $1\",\"x\":{\"n\":[1,2]}}"
	equal "id: $2 201" set_body "$body" &&
	    equal "$body" get "$U/$3" &&
	    equal application/json type_of "$U/$3"
}

refused()
{
	equal 'Invalid transaction format 400' set_body "$1"
}

test_keys()
{
	check 'a key comes back' round_trip plain plain plain
	check 'a key with a space' round_trip 'a b' 'a b' a%20b
	check 'a key with slashes' round_trip 'a/b//c' 'a/b//c' a%2Fb%2F%2Fc
	check 'a key with quotes' round_trip 'q\"u' 'q"u' q%22u
	check 'a key of UTF-8' round_trip 'clé✓' 'clé✓' cl%C3%A9%E2%9C%93
	check 'a key in raw UTF-8' equal '{"id":"clé✓"' \
	    sh -c "curl -s '$U/clé✓' | cut -d, -f1"
	check 'a key with escapes' round_trip '\ud83d\ude00\u0041' '😀A' \
	    %F0%9F%98%80A
	check 'a key with percent' round_trip '50%' '50%' 50%25
	check 'a stray percent stays' equal '{"id":"50%"' \
	    sh -c "curl -s '$U/50%' | cut -d, -f1"
	check 'plus is plus' round_trip 'a+b' 'a+b' a+b
	check 'a key called commit' round_trip commit commit commit
	check 'a new value replaces the old' eval \
	    "round_trip again again again && set_body '{\"id\":\"again\"}' &&
	    equal '{\"id\":\"again\"}' get '$U/again'"
	check 'a missing key is 200' equal 200 status "$U/nobody"
	check 'a missing key is empty' equal '' get "$U/nobody"
}

test_refusals()
{
	check 'not JSON' refused 'hello'
	check 'an array' refused '["id"]'
	check 'no id' refused '{"value":"x"}'
	check 'an id inside only' refused '{"x":{"id":"k"}}'
	check 'a number as id' refused '{"id":1}'
	check 'an open object' refused '{"id":"k"'
	check 'more after the object' refused '{"id":"k"} {}'
	check 'a raw newline in a string' refused $'{"id":"a\nb"}'
	check 'no body' refused ''
	check 'unknown path' equal 404 status "${U%/v1*}/v1/blocks"
	check 'a longer word' equal 404 status "${U}x"
	check 'wrong method' equal 405 status -X PUT "$U/key"
	check 'OPTIONS' equal 204 status -X OPTIONS "$U/key"
}

test_ranges()
{
	local a='{"id":"r1","value":1}' b='{"id":"r2"}' c='{"id":"r3"}'
	set_body "$a" >/dev/null
	set_body "$b" >/dev/null
	set_body "$c" >/dev/null
	check 'a range has both ends' equal "[$a,$b,$c]" get "$U/r1/r3"
	check 'a range stops' equal "[$a,$b]" get "$U/r0/r29"
	check 'an empty range' equal '[]' get "$U/s/r"
	check 'all values' sh -c "curl -s '$U' | grep -qF '$a,$b,$c'"
	check 'then the cooldown' equal 503 status "$U"
	check 'the cooldown says so' sh -c "curl -s '$U' | grep -Eqx \
	    'Get all transactions functionality on cooldown \
\([0-9]+ ms left\)'"
}

# raw TEXT...: send each piece by itself, print what comes until the end
raw()
{
	local piece
	exec 3<>"/dev/tcp/127.0.0.1/$kvport" || return 1
	for piece in "$@"; do
		printf "$piece" >&3
		sleep 0.05
	done
	timeout 3 cat <&3 2>/dev/null
	exec 3>&-
}

pipelined()
{
	local a='GET /v1/transactions/r2 HTTP/1.1\r\nHost: x\r\n'
	[ "$(raw "$a\r\n$a\r\n${a}Connection: close\r\n\r\n" |
	    grep -o '{"id":"r2"}' | wc -l)" = 3 ]
}

in_pieces()
{
	raw 'POST /v1/trans' 'actions/commit HTTP/1.1\r\nConnection: close\r' \
	    '\nContent-Length: 12\r\n\r' '\n{"id":' '"cut"}' |
	    grep -qx 'id: cut'
}

test_http()
{
	check 'keep-alive' equal '1 0 ' curl -s -o /dev/null -o /dev/null \
	    -w '%{num_connects} ' "$U/r1" "$U/r2"
	check 'Connection: close' sh -c "curl -si -H 'Connection: close' \
	    '$U/r1' | grep -qi '^connection: close'"
	check 'HTTP/1.0' equal 200 status -0 "$U/r1"
	check 'HEAD' equal 200 status -I "$U/r1"
	check 'requests sent ahead' pipelined
	check 'a request in pieces' in_pieces
	check 'a large body' large_body
	check 'nonsense' sh -c "[ $(raw 'nonsense\r\n\r\n' | head -1 |
	    cut -d' ' -f2) = 400 ]"
	check 'a body too large' sh -c "[ $(raw 'POST / HTTP/1.1\r\n'\
'Content-Length: 99999999\r\n\r\n' | head -1 | cut -d' ' -f2) = 413 ]"
	check 'an endless head' sh -c "[ $(raw "GET / HTTP/1.1\r\nX: $(
	    printf '%20000s' x)" | head -1 | cut -d' ' -f2) = 431 ]"
}

large_body()
{
	{ printf '{"id":"large","value":"'
	head -c 3000000 /dev/zero | tr '\0' x
	printf '"}'; } >large
	curl -s --data-binary @large "$U/commit" | grep -qx 'id: large' &&
	    curl -s "$U/large" | cmp - large
}

transaction_data()
{
	local n='[0-9]+'
	get "$S/transaction_data" | grep -Eqx \
	    '\{"ext_cache_hit_ratio":[0-9]+\.[0-9e.-]+,'\
'"level_db_approx_mem_size":"[0-9]+",'\
'"level_db_stats":"( {31}Compactions\\nLevel  Files [^"]*)",'\
"\"max_resident_set_size\":$n,\"num_reads\":$n,\"num_writes\":$n,"\
"\"resident_set_size\":$n\\}"
}

test_stats()
{
	check 'transaction_data' transaction_data
	check 'transaction_data has no type' equal '' type_of \
	    "$S/transaction_data"
	check 'metrics have one' equal 'text/plain; charset=utf-8' type_of \
	    "$S/metrics"
	check 'metrics have gauges' sh -c "curl -s '$S/metrics' |
	    grep -Eqx 'consensus\{metrics=\"execute\"\} [1-9][0-9]*'"
	check 'metrics without NaN' sh -c "! curl -s '$S/metrics' |
	    grep -qi '} nan'"
	check 'consensus_data' sh -c "curl -s '$S/consensus_data' |
	    grep -q '\"txn_commands\":\[\"SET\"\]'"
	check 'consensus_data is small' sh -c "[ \$(curl -s \
	    '$S/consensus_data' | grep -o txn_number | wc -l) -le 10 ]"
	check 'not faulty' equal 'Not Faulty' get "$S/get_status"
	check 'make it faulty' equal Success get "$S/make_faulty"
	check 'faulty' equal Faulty get "$S/get_status"
	check 'and back' sh -c "curl -s '$S/make_faulty' &&
	    [ \"\$(curl -s '$S/get_status')\" = 'Not Faulty' ]"
	check 'no such page' equal 404 status "$S/nothing"
	check 'threads have names' equal \
	    'kv-http-0 kv-http-1 kv-http-2 kv-http-3 kv-stats kvservice leveldb-bg ' \
	    sh -c "sort /proc/$pid/task/*/comm | tr '\n' ' '"
}

switches()
{
	cat "/proc/$pid"/task/*/status | awk '/ctxt_switches/ { n += $2 }
	    END { print n }'
}

test_idle()
{
	local before
	sleep 0.2
	before=$(switches)
	sleep 1
	check 'idle, it does nothing' equal "$before" switches
}

# All that was due is accounted for, here and at the service.
counts_add_up()
{
	[ "$(member scheduled total)" = 2000 ] &&
	    [ "$(member errors total)" = 0 ] &&
	    [ "$(number answered)" = 2000 ] &&
	    [ "$(number lost_keys)" = 0 ] &&
	    [ "$(member set count)" = "$(member scheduled set)" ] &&
	    [ "$(member scan count)" = "$(member scheduled scan)" ] &&
	    [ $(($(member get_found count) + $(member get_missing count))) \
		= "$(member scheduled get)" ] && return
	cat report
	return 1
}

service_agrees()
{
	equal $((sets + 1000 + $(member set count))) \
	    counter 'kv_operations_total{op="set"}' &&
	    equal "$(member get_found count)" \
		counter 'kv_operations_total{op="get",found="yes"}' &&
	    equal "$(member get_missing count)" \
		counter 'kv_operations_total{op="get",found="no"}' &&
	    equal "$(member scan count)" \
		counter 'kv_operations_total{op="scan"}'
}

# less A B...: the numbers ascend
less()
{
	echo "$@"
	echo "$@" | awk '{ for (i = 2; i <= NF; i++)
	    if ($(i - 1) + 0 > $i + 0) exit 1 }'
}

quantiles_ascend()
{
	local op
	for op in set get_found get_missing scan; do
		less 0.000001 "$(member $op p50)" "$(member $op p90)" \
		    "$(member $op p99)" "$(member $op p99.9)" \
		    "$(member $op max)" || return
	done
}

is_json()
{
	if command -v jq >/dev/null; then
		jq . <report
	else
		python3 -m json.tool <report
	fi
}

test_load()
{
	local sets
	restart --write-buffer 65536
	sets=$(counter 'kv_operations_total{op="set"}')
	check 'kvload runs' eval "'$KVLOAD' --port $kvport --rate 1000 \
	    --duration 2 --keys 1000 --missing 0.2 >report"
	check 'its report is JSON' is_json
	check 'its counts add up' counts_add_up
	check 'the service counted the same' service_agrees
	check 'it reached its rate' less 990 "$(number reached_rate)" 1000.1
	check 'quantiles ascend' quantiles_ascend
	check 'a fifth of the gets misses' less 200 \
	    "$(member get_missing count)" 400
	check 'LevelDB flushed or compacted' sh -c "curl -s \
	    '$S/transaction_data' | grep -Eq -- '---\\\\n +[0-9]'"
	check 'a connection for each request' eval "'$KVLOAD' \
	    --port $kvport --rate 200 --duration 1 --close --no-preload \
	    --keys 1000 >report && equal 200 number connects &&
	    equal 200 number answered"
	check 'kvload knows its arithmetic' "$KVLOAD" --check
}

term_under_load()
{
	"$KVLOAD" --port "$kvport" --rate 1000 --duration 0 --no-preload \
	    >report &
	local load=$!
	sleep 0.5
	stop || return 1
	sleep 0.2
	kill $load
	wait $load && less 300 "$(number answered)" &&
	    less 1 "$(member errors connect)"
}

test_end()
{
	check 'SIGTERM under load ends both well' term_under_load
	check 'it starts again' start
	check 'with its data' equal '{"id":"r2"}' get "$U/r2"
}

# At 20 a second, 200 ms each and one connection, the queue grows to 2 s.
no_omission()
{
	"$KVLOAD" --port "$kvport" --rate 20 --duration 2 --mix get=1 \
	    --keys 1000 --no-preload --connections 1 >report &&
	    less 3 "$(member get_found max)" &&
	    less 1 "$(member get_found p50)"
}

timeouts_count()
{
	"$KVLOAD" --port "$kvport" --rate 20 --duration 1 --timeout 0.3 \
	    --mix set=1,get=1 --keys 10 --prefix hang- >report &&
	    [ "$(member errors timeout)" = "$(member scheduled get)" ] &&
	    [ "$(member set count)" = "$(member scheduled set)" ]
}

hangs() { get -m 1 "$1"; [ $? = 28 ]; }

test_quirks()
{
	restart --slow-get 200 --hang-get hang- --nan --bad-range \
	    --empty-level-table --no-all
	check 'a slow get' sh -c "curl -s -o /dev/null -w '%{time_total}' \
	    '$U/r1' | awk '{ exit !(\$1 > 0.089 && \$1 < 0.5) }'"
	check 'waiting counts as latency' no_omission
	check 'a hanging get' hangs "$U/hang-1"
	check 'others go on' equal '{"id":"r2"}' get "$U/r2"
	check 'timeouts are counted' timeouts_count
	check 'quantiles read Nan' sh -c "curl -s '$S/metrics' >/dev/null;
	    curl -s '$S/metrics' | grep -q '0.99\"} Nan'"
	check 'an empty level table' sh -c "curl -s '$S/transaction_data' |
	    grep -q -- '---.n\"'"
	check 'a range that is no JSON' equal \
	    '5b0a0f0a0b7b226964223a227232227d18015d' \
	    sh -c "curl -s '$U/r2/r2' | od -An -tx1 | tr -d ' \n'"
	check 'no list of all' equal 404 status "$U"
	restart --workers 1 --hang-get hang- --block
	check 'a hang that blocks' hangs "$U/hang-1"
	check 'blocks the others' hangs "$U/r2"
	check 'the stats still answer' equal 'Not Faulty' get "$S/get_status"
	check 'it still ends well' stop
}

crashes_and_returns()
{
	local first n=0
	start --respawn --crash-after 1 || return 1
	first=$pid
	while [ "$pid" = "$first" ] && [ $n -lt 60 ]; do
		sleep 0.05
		n=$((n + 1))
		read -r pid kvport _ <ready
	done
	U=http://127.0.0.1:$kvport/v1/transactions
	[ "$pid" != "$first" ] && ! kill -0 "$first" &&
	    equal '{"id":"r2"}' get "$U/r2"
}

crashes()
{
	start --crash-after 1 || return 1
	wait "$main"
	code=$?
	main=
	[ $code = 137 ]
}

test_crash()
{
	check 'a crash' crashes
	check 'a crash and a new pid' crashes_and_returns
	check 'the respawner ends well' stop
	check 'and took the service along' sh -c "! kill -0 $pid"
}

check 'it starts' start
test_keys
test_refusals
test_ranges
test_http
test_stats
test_idle
test_load
test_end
test_quirks
test_crash
exit $failed
