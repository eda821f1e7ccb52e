# Databases of Debian's packages under their own load generators, for the
# system tests and the benchmarks; sourced after cpu.sh or with $pids, begin()
# and $dir of its own.  Each runs as an unprivileged user, on a port of its
# own on this host only, with its data in a folder of the test.

. "$(dirname "${BASH_SOURCE[0]}")/../../live/port.sh"
free_port redis_port
free_port postgres_port
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
# Where threads begin: functions of the C library, which may have no name.
from_main='};_start;[^;]*libc[^;]*;[^;]*libc[^;]*;main;'
from_thread='};[^;]*(clone|libc)[^;]*;[^;]*(start_thread|libc)[^;]*;'

as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups --)

# comes SECONDS COMMAND : until the command succeeds, without a word
comes() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return
		sleep 0.1
	done
}

# start_redis FOLDER [PROGRAM] : on $redis_port
start_redis() {
	command -v redis-server redis-benchmark >/dev/null ||
		{ echo "skip - redis: redis-server is not installed"; return 1; }
	install -d -o nobody "$1"
	chmod 755 "$(dirname "$1")"
	begin "${as_nobody[@]}" "${2:-redis-server}" --port "$redis_port" --save '' \
		--bind 127.0.0.1 --dir "$1" --appendonly no \
		>"$1/log" 2>&1
	comes 120 redis-cli -p "$redis_port" ping ||
		{ echo "not ok - redis starts"; tail -n 5 "$1/log"; return 1; }
}

# More work than any test takes.
load_redis() {
	begin "${as_nobody[@]}" redis-benchmark -p "$redis_port" -q \
		-t set,get,lpush,sadd,zadd -n 100000000 -r 100000 -c 20 \
		>/dev/null 2>&1
}

# start_postgres FOLDER [PROGRAM] : on $postgres_port, filled for pgbench
start_postgres() {
	[ -n "$postgres_bin" ] ||
		{ echo "skip - postgres: postgresql is not installed"; return 1; }
	install -d -o postgres -m 700 "$1"
	chmod 755 "$(dirname "$1")"
	(
		cd "$1" || exit
		"${as_postgres[@]}" "$postgres_bin/initdb" -D "$1/data" -A trust \
			-N --no-instructions
	) >"$1/log" 2>&1
	begin "${as_postgres[@]}" "${2:-$postgres_bin/postgres}" -D "$1/data" -F \
		-p "$postgres_port" -c listen_addresses=127.0.0.1 \
		-c unix_socket_directories= >>"$1/log" 2>&1
	postgres_pid=$last
	comes 180 "${as_postgres[@]}" "$postgres_bin/pg_isready" -h 127.0.0.1 \
		-p "$postgres_port" -q &&
		"${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 \
		-p "$postgres_port" -i -s 2 -q postgres >>"$1/log" 2>&1 ||
		{ echo "not ok - postgres starts"; tail -n 5 "$1/log"; return 1; }
}

# A postgres that is killed leaves shared memory behind.
before_end() {
	[ -n "${postgres_pid:-}" ] || return
	kill -INT "$postgres_pid" 2>/dev/null
	comes 60 eval "! kill -0 $postgres_pid"
}

load_postgres() {
	begin "${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 \
		-p "$postgres_port" -c 4 -T 100000 postgres >/dev/null 2>&1
}
