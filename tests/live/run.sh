#!/bin/bash
# Runs MemLens live on a database, in the foreground, without systemd: the
# database and its load, the daemon, the scraper, the workers and nginx.
# `make run` calls it; tests do so too, with their own port and folder.
#
#   run.sh BUILD [PORT]
#
# Environment: DATABASE (leveldb, a real LevelDB service, or resilientdb, a
# double of one: the file of that name beside this one says more), RUN (folder for
# sockets, store and logs), KVPORT (of the service), SLOT (slot length), OFFCPU=no
# (without the time that threads wait, which the daemon leaves out by itself),
# DAEMONFLAGS, LISTEN (address), HOSTS (names under which others may ask, beside
# localhost and addresses).
#
# Everything runs in this script's process group; Ctrl-C or TERM ends all.
set -u
build=$(cd "${1:?folder of the build}" && pwd)
port=${2:-8080}
kvport=${KVPORT:-18000}
run=${RUN:-/var/tmp/memlens-$port}
listen=${LISTEN:-127.0.0.1}
source=$(cd "$(dirname "$0")/../.." && pwd)
declare -A names=()
declare -a order=()
stopping=

fail() { echo "memlens run: $*" >&2; exit 1; }
free_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

[ "$(id -u)" = 0 ] || fail "needs root, to sample the whole host (sudo make run)"
. "$source/tests/live/${DATABASE:-leveldb}.bash"
for f in memlensd memlens-scrape memlens-fcgi memlens-draw memlens "${db_programs[@]}"; do
	[ -x "$build/$f" ] || fail "$build/$f is missing; run make first"
done
[ -e /sys/kernel/btf/vmlinux ] ||
	echo "memlens run: this kernel has no BTF: the CPU profiler stays off" >&2
for p in "$port" "${db_ports[@]}"; do
	free_port "$p" || fail "port $p is taken by another program"
done

as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)

# Starts a program and remembers its pid under a name.
start() {
	local name=$1
	shift
	"$@" >>"$run/log/$name.log" 2>&1 &
	names[$!]=$name
	order+=($!)
	echo $! >"$run/pid/$name"
}

prepare() {
	mkdir -p "$run" || fail "cannot write to $run"
	# anybody may make folders in /var/tmp, and programs of it run as root
	[ -O "$run" ] && [ ! -L "$run" ] ||
		fail "$run belongs to somebody else; remove it or set RUN"
	# whose sockets and logs are made anew below; its programs hold it, too
	exec {lock}>"$run/lock"
	flock -n "$lock" ||
		fail "another run has its programs in $run; end it or set RUN"
	mkdir -p "$run"/{bin,log,nginx,pid,db,sockets} ||
		fail "cannot write to $run"
	install -d -m 2750 -g nogroup "$run/store"
	chmod 755 "$run" "$run"/{bin,log,nginx,pid,sockets}
	"${as_nobody[@]}" test -x "$run/sockets" ||
		fail "the user nobody, as whom programs run, cannot enter $run:" \
			"a directory above it is closed; set RUN"
	chown nobody:nogroup "$run/db" "$run/sockets"
	rm -f "$run"/sockets/*.sock "$run"/log/*.log
	install -m 755 "$build"/{memlensd,memlens-scrape,memlens-fcgi,memlens-draw,memlens} \
		"$run/bin/"
	install -m 644 "$build/libmemlens-alloc.so" "$run/bin/"
	db_prepare
	rm -rf "$run/www" && cp -r "$build/www" "$run/www"
	chmod -R a+rX "$run/www"
	cp "$source/nginx/memlens-locations.conf" \
		/etc/nginx/{mime.types,fastcgi_params} "$run/nginx/"
	sed "s,@RUN@,$run,g; s,@LISTEN@,$listen:$port,g" \
		"$source/nginx/memlens-run.conf.in" >"$run/nginx/nginx.conf"
	configure
}

configure() {
	cat >"$run/memlens.conf" <<-END
	[store]
	directory = $run/store
	${SLOT:+slot = $SLOT}

	[socket]
	path = $run/memlensd.sock
	group = nogroup

	[offcpu]
	enabled = ${OFFCPU:-yes}

	END
	cat >"$run/scrape.conf" <<-END
	[scrape]
	socket = $run/memlensd.sock
	${SLOT:+slot = $SLOT}

	END
	cat >"$run/memlens-fcgi.conf" <<-END
	[worker]
	${HOSTS:+hosts = $HOSTS}

	[collector]
	socket = $run/memlensd.sock

	[kv]
	target = 127.0.0.1:$kvport
	allow-put = yes

	END
	db_configure
}

start_daemon() {
	start memlensd "$run/bin/memlensd" -f "$run/memlens.conf" ${DAEMONFLAGS:-}
}
start_scrape() {
	start memlens-scrape "${as_nobody[@]}" "$run/bin/memlens-scrape" \
		-f "$run/scrape.conf"
}
start_pool() {
	start "memlens-fcgi-$1" "${as_nobody[@]}" "$run/bin/memlens-fcgi" \
		-c "$run/memlens-fcgi.conf" -s "$run/store" -p "$1" -j "$2" \
		-l "$run/sockets/$1.sock"
}
start_nginx() {
	start nginx nginx -p "$run/nginx" -c "$run/nginx/nginx.conf"
}

stop_all() {
	[ -z "$stopping" ] || return
	stopping=yes
	trap '' INT TERM
	for ((i = ${#order[@]} - 1; i >= 0; i--)); do
		kill -TERM "${order[i]}" 2>/dev/null
	done
	for i in $(seq 50); do
		[ -n "$(jobs -r)" ] || break
		sleep 0.1
	done
	for pid in "${order[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
}

# Waits until a command succeeds, at most some seconds.
wait_for() {
	local what=$1 seconds=$2
	shift 2
	for _ in $(seq $((seconds * 10))); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	for f in "$run"/log/*.log; do
		echo "$f:" && tail -n 5 "$f"
	done >&2
	stop_all
	fail "$what did not start; see $run/log"
}

# A program that ended by itself is said and started again after a while, as
# a service manager would.
restart() {
	local name=$1
	case $name in
	memlensd) start_daemon ;;
	memlens-scrape) start_scrape ;;
	memlens-fcgi-query) start_pool query 2 ;;
	memlens-fcgi-health) start_pool health 1 ;;
	memlens-fcgi-ingest) start_pool ingest 1 ;;
	memlens-fcgi-playground) start_pool playground 2 ;;
	nginx) start_nginx ;;
	*) db_restart "$name" ;;
	esac
}

watch_over() {
	local pid status name
	while :; do
		wait -n -p pid
		status=$?
		[ -z "$stopping" ] || return
		[ -n "${pid:-}" ] || { sleep 1; continue; }
		name=${names[$pid]:-}
		[ -n "$name" ] || continue
		echo "memlens run: $name ended (status $status); again in ${RESTART:-10} s" >&2
		(sleep "${RESTART:-10}") & names[$!]=; local timer=$!
		wait $timer
		[ -z "$stopping" ] || return
		restart "$name"
	done
}

trap 'stop_all; exit 0' INT TERM
trap stop_all EXIT
prepare
db_start
start_daemon
start_scrape
db_load
start_pool query 2
start_pool health 1
start_pool ingest 1
start_pool playground 2
wait_for "a worker" 60 test -S "$run/sockets/query.sock"
wait_for "the worker for health" 60 test -S "$run/sockets/health.sock"
wait_for "the playground's worker" 60 test -S "$run/sockets/playground.sock"
db_tell
start_nginx
wait_for "nginx" 60 curl -sf "http://127.0.0.1:$port/api/v1/health"
echo "logs and store: $run"
echo "http://localhost:$port/"
watch_over
