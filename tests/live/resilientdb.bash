# The database of run.sh: a double of ResilientDB; sourced.  Four replicas of one
# executable, kv_service, with the real one's functions of statistics, which go
# through rounds that real ones took; and kv_proxy, which answers as crow does.
#
# Environment: REPLICAPORTS (of the four), DELAY (ms until a write is committed).
#
# The fault that is configured silences replica 3.  What run.sh calls is said in
# leveldb.bash.
replicas=(${REPLICAPORTS:-20001 20002 20003 20004})
db_ports=("$kvport" "${replicas[@]}")
db_programs=(system/resdb_replica)

command -v node >/dev/null || fail "the proxy of the double needs node"

db_prepare() {
	install -m 755 "$build/system/resdb_replica" "$run/bin/kv_service"
	install -m 644 "$source"/tests/api/crow.mjs \
		"$source"/tests/data/pbft-rounds.txt "$run/bin/"
	ln -sf "$(command -v node)" "$run/bin/kv_proxy"
	cat >"$run/bin/silence-replica" <<-END
	#!/bin/sh
	kill -USR2 "\$(cat $run/pid/replica\$1)" && echo "replica \$1 is silent"
	END
	chmod 755 "$run/bin/silence-replica"
}

db_configure() {
	cat >>"$run/memlens.conf" <<-END
	[service kv_service]
	comm = ^kv_service\$

	[service kv_proxy]
	comm = ^kv_proxy\$
	END
	cat >>"$run/memlens-fcgi.conf" <<-END
	[fault]
	command = $run/bin/silence-replica 3
	span = ${FAULTSPAN:-60s}

	[graph kv_service]
	elf = $run/bin/kv_service
	END
}

ready() { grep -qx ready "$run/log/replica$1.log"; }
start_replica() { # NUMBER
	rm -f "$run/log/replica$1.log"
	start "replica$1" "${as_nobody[@]}" "$run/bin/kv_service" -f \
		-s "$run/db" "$run/bin/pbft-rounds.txt" "$1" \
		"${replicas[$1 - 1]}"
	wait_for "replica $1" 60 ready "$1"
	kill -USR1 "$(cat "$run/pid/replica$1")"
}
start_proxy() {
	start kv_proxy "${as_nobody[@]}" env PORT="$kvport" \
		DELAY="${DELAY:-50}" "$run/bin/kv_proxy" "$run/bin/crow.mjs"
}
db_start() {
	local i
	start_proxy
	for i in 1 2 3 4; do start_replica $i; done
	wait_for "the proxy" 60 curl -sf -o /dev/null \
		"http://127.0.0.1:$kvport/v1/transactions/none"
}
# Each goes through its rounds by itself.
db_load() { :; }
db_tell() { :; }
db_restart() {
	case $1 in
	kv_proxy) start_proxy ;;
	replica*) start_replica "${1#replica}" ;;
	esac
}
