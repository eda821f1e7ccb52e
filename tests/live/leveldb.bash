# The database of run.sh: a real LevelDB service, and its load; sourced.
#
# Environment: RATE (requests per second of the load), STATSPORT (of the
# service's statistics, 501 above KVPORT), KVFLAGS.
#
# What run.sh calls, in this order: db_prepare, db_configure, db_start, db_load,
# db_tell; db_restart NAME when one of its programs has ended by itself.
stats=${STATSPORT:-$((kvport + 501))}
db_ports=("$kvport" "$stats")
db_programs=(kvservice kvload)

db_prepare() {
	install -m 755 "$build"/{kvservice,kvload} "$run/bin/"
	install -m 644 "$build/kvservice.map" "$run/bin/"
}

db_configure() {
	cat >>"$run/memlens.conf" <<-END
	[service kvservice]
	comm = ^kv
	command = \Q$run/bin/kvservice\E
	END
	cat >>"$run/scrape.conf" <<-END
	[target kvservice]
	service = kvservice
	leveldb = http://127.0.0.1:$stats/transaction_data
	prometheus = http://127.0.0.1:$stats/metrics
	END
	cat >>"$run/memlens-fcgi.conf" <<-END
	[graph kvservice]
	elf = $run/bin/kvservice
	END
}

# With the library that tells what it holds in memory.
start_kv() {
	start kvservice "${as_nobody[@]}" "$run/bin/memlens" run -- \
		"$run/bin/kvservice" --port "$kvport" --stats-port "$stats" \
		--db "$run/db" ${KVFLAGS:-}
}
db_start() {
	start_kv
	wait_for "the LevelDB service" 120 \
		curl -sf "http://127.0.0.1:$stats/get_status"
}
db_load() {
	start kvload "${as_nobody[@]}" "$run/bin/kvload" --port "$kvport" \
		--duration 0 --rate "${RATE:-1000}"
}
# What the service was linked from, by the map that its build has written.
db_tell() {
	start memlens-graph "${as_nobody[@]}" "$run/bin/memlens" graph \
		--tell kvservice --socket "$run/memlensd.sock" --every 60s \
		${SLOT:+--slot "$SLOT"} --map "$run/bin/kvservice.map" \
		"$run/bin/kvservice"
}
db_restart() {
	case $1 in
	kvservice) start_kv ;;
	kvload) db_load ;;
	memlens-graph) db_tell ;;
	esac
}
