#!/bin/bash
# Databases, a web server and interpreters run their own load tests with the
# allocator's library while a profiler samples: no error of theirs, and what is
# in use is what they say themselves, where they have such a figure.
#
# SECONDS_EACH: how long each is under load; 1 here, more in tests/bench.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/databases.sh"
each=${SECONDS_EACH:-1}
out=$dir/out
library=$dir/libmemlens-alloc.so
cp "$BUILD/libmemlens-alloc.so" "$library"
chmod 755 "$dir" "$library"
now() { grep -c '^child' "$out"; }
slots() { [ "$(now)" -ge "$1" ]; }
more() { local n; n=$(now) && seen slots $((n + $1)); }
last_slot() { awk '$1 == "block" { s = $2 } END { print s }' "$out"; }
in_use() {
	grep -a "^inuse_space $(last_slot) $1 " "$out" |
		awk '{ n += $NF } END { printf "%.0f\n", n }'
}
taken() {
	grep -a "^alloc_space [0-9]* $1 " "$out" |
		awk '{ n += $NF } END { printf "%.0f\n", n }'
}

with=(env "LD_PRELOAD=$library")
# no_errors NAME FILE PATTERN : a log without such a line
no_errors() {
	local said
	said=$(grep -aEi "$3" "$2" | head -n 3)
	expect "$1: no error in its log" "$said" -z "$said"
}
# like NAME SERVICE BYTES : about as much is in use as it says, four standard
# errors of small objects and a tenth for what their sizes are rounded to
like() {
	local is
	is=$(in_use "$2")
	expect_near "$1: in use $((is >> 20)) MiB, it says $(($3 >> 20))" \
		"$is" "$3" "$(awk -v b="$3" 'BEGIN {
		printf "%.0f", 4 * sqrt(524288 * b) + b / 10 }')"
}
expect_near() {
	expect "$1" "$2 of $3, allowed $4" $(($2 - $3)) -le "$4" -a \
		$(($3 - $2)) -le "$4"
}
# sampled NAME SERVICE MIB : it was seen to take at least so much, once the slots
# in which it did are over
sampled() {
	local is
	more 2
	is=$(taken "$2")
	expect "$1: has taken $((is >> 20)) MiB" "$is" "$is" -ge $(($3 << 20))
}

run_redis() {
	own "$(command -v redis-server)" redis
	export LD_PRELOAD=$library
	start_redis "$dir/redis" "$dir/redis_$tag"
	unset LD_PRELOAD
	redis-benchmark -p "$redis_port" -q -t set,get,lpush,sadd,zadd,mset \
		-n $((20000 * each)) -r 20000 -c 20 >"$dir/redis.said" 2>&1
	status=$?
	expect "redis-benchmark" "$(cat "$dir/redis.said")" $status -eq 0
	redis-cli -p "$redis_port" flushall sync >/dev/null
	redis-cli -p "$redis_port" eval "for i = 1, 60000 do redis.call(
		'set', i, string.rep('x', 3000)) end" 0 >/dev/null
	more 2
	like redis "redis_$tag" "$(redis-cli -p "$redis_port" info memory |
		tr -d '\r' | awk -F: '/^used_memory:/ { print $2 }')"
	redis-cli -p "$redis_port" shutdown nosave
	no_errors redis "$dir/redis/log" 'warning.*crash|fatal|assert|error'
}

run_postgres() {
	local program=$dir/postgres_$tag
	cp "$postgres_bin/postgres" "$program"
	export LD_PRELOAD=$library
	start_postgres "$dir/postgres" || return
	"${as_postgres[@]}" "$postgres_bin/pgbench" -h 127.0.0.1 \
		-p "$postgres_port" -c 4 -T "$each" postgres \
		>"$dir/pgbench.said" 2>&1
	status=$?
	expect "pgbench" "$(cat "$dir/pgbench.said")" $status -eq 0 -a \
		"$(grep -c 'failed transactions: 0' "$dir/pgbench.said")" -eq 1
	unset LD_PRELOAD
	before_end
	postgres_pid=
	no_errors postgres "$dir/postgres/log" '(error|fatal|panic): |signal 11'
	sampled postgres postgres 20
}

sql() { mariadb --no-defaults -S "$dir/mariadb/socket" "$@"; }
run_mariadb() {
	own /usr/sbin/mariadbd maria
	install -d -o nobody "$dir/mariadb"
	begin "${with[@]}" "${as_nobody[@]}" "$dir/maria_$tag" --no-defaults \
		--datadir="$dir/mariadb" --skip-grant-tables \
		--skip-networking --socket="$dir/mariadb/socket" \
		--innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M \
		--key-buffer-size=64K --aria-pagecache-buffer-size=1M \
		>"$dir/mariadb.log" 2>&1
	comes 60 sql -e 'select 1' ||
		{ not_ok "mariadb starts" "$(tail "$dir/mariadb.log")"; return; }
	sql -e "create database d; use d;
		create table t (a int primary key, b varchar(1000));
		insert into t select seq, repeat('x', 900)
			from seq_1_to_$((5000 * each));
		select count(*) from (select distinct concat(a, b) from t) x
		" >"$dir/sql.said" 2>&1
	status=$?
	more 2
	was=$(in_use "maria_$tag")
	sql -e "use d; set max_heap_table_size = 500 << 20;
		create table m (a int primary key, b char(250)) engine = memory;
		insert into m select seq, 'y' from seq_1_to_200000;
		select sum(length(b)) from m" >>"$dir/sql.said" 2>&1
	status=$((status + $?))
	expect "mariadb's queries" "$(cat "$dir/sql.said")" $status -eq 0
	more 2
	like "mariadb, its table" "maria_$tag" "$(sql -N -e "select
		data_length + index_length + $was from
		information_schema.tables where table_name = 'm'")"
	kill "$last"
	wait "$last"
	no_errors mariadb "$dir/mariadb.log" '\[error\]|assert|signal'
}

run_nginx() {
	local i
	free_port nginx_port
	own /usr/sbin/nginx nginx
	install -d -o nobody "$dir/nginx"
	cat >"$dir/nginx/conf" <<-END
	daemon off; user nobody nogroup; worker_processes 2;
	pid $dir/nginx/pid; error_log $dir/nginx/log;
	events {}
	http {
		access_log off; gzip on; gzip_min_length 1; gzip_types *;
		server { listen 127.0.0.1:$nginx_port; root $dir/nginx; }
	}
	END
	head -c 300000 /dev/urandom | base64 >"$dir/nginx/page"
	chmod 644 "$dir/nginx/page"
	begin "${with[@]}" "$dir/nginx_$tag" -c "$dir/nginx/conf" -p "$dir/nginx" \
		-e "$dir/nginx/log"
	comes 30 curl -s "http://127.0.0.1:$nginx_port/page" -o "$dir/page"
	for ((i = 0; i < each; i++)); do
		curl -sS --no-progress-meter --compressed --parallel -o "$dir/page" -w '%{http_code}\n' \
			"http://127.0.0.1:$nginx_port/page?[1-60]"
	done | sort | uniq -c | awk '{ print $1, $2 }' >"$dir/codes"
	kill -HUP "$last"
	expect "nginx's answers" "$(cat "$dir/codes")" \
		"$(cat "$dir/codes")" = "$((60 * each)) 200"
	kill -QUIT "$last"
	wait "$last"
	status=$?
	expect "nginx: status" $? $status -eq 0
	no_errors nginx "$dir/nginx/log" '\[(error|alert|crit|emerg)\]|signal 11'
	sampled nginx "nginx_$tag" 5
}

run_node() {
	own "$(readlink -f "$(command -v node)")" node
	cat >"$dir/load.js" <<'END'
const { Worker } = require('worker_threads');
const zlib = require('zlib');
const kept = [];
for (let i = 0; i < 100; i++)
	kept.push(Buffer.alloc(1 << 20, i));
const end = Date.now() + 1000 * process.argv[2];
let n = 0;
do {
	const text = JSON.stringify(Array.from({ length: 2000 },
		(_, i) => ({ i, s: String(i).repeat(20) })));
	const back = JSON.parse(zlib.gunzipSync(zlib.gzipSync(text)));
	if (back.length !== 2000)
		throw new Error('lost');
	n++;
} while (Date.now() < end);
new Worker('require("zlib").gzipSync(Buffer.alloc(1 << 22))', { eval: true })
	.on('exit', code => {
		console.log(process.memoryUsage().arrayBuffers, code, n);
		setTimeout(() => kept.pop(), 600000);
	});
END
	begin "${with[@]}" "$dir/node_$tag" "$dir/load.js" "$each" >"$dir/node.said" 2>&1
	comes $((each + 60)) grep -q ' 0 ' "$dir/node.said"
	status=$?
	expect "node's work and worker" "$(cat "$dir/node.said")" $status -eq 0
	more 2
	like node "node_$tag" "$(awk '{ print $1 }' "$dir/node.said")"
	kill "$last"
}

run_python() {
	own "$(readlink -f /usr/bin/python3)" pyth
	cat >"$dir/load.py" <<'END'
import json, re, sys, time, tracemalloc, unittest
tracemalloc.start()
kept = [json.loads(json.dumps({"a": "x" * (i % 12000), "b": [i] * 9}))
        for i in range(12000)]
end = time.time() + float(sys.argv[1])
while time.time() < end:
    assert len(json.loads(json.dumps(kept[:100]))) == 100
    assert len(re.findall("x", kept[2999]["a"])) == 2999
print(tracemalloc.get_traced_memory()[0] + tracemalloc.get_tracemalloc_memory(),
      flush=True)
time.sleep(600)
END
	begin "${with[@]}" PYTHONMALLOC=malloc "$dir/pyth_$tag" "$dir/load.py" \
		"$each" >"$dir/python.said" 2>&1
	comes $((each + 60)) grep -q '^[0-9]' "$dir/python.said"
	more 2
	like python "pyth_$tag" "$(cat "$dir/python.said")"
	kill "$last"
	# its own tests, where they are installed
	local python
	python=$(python3 -c 'import sys, test.test_json
print(sys.executable)' 2>/dev/null) || return
	"${with[@]}" "$python" -m unittest test.test_json test.test_list \
		test.test_set test.test_bytes >"$dir/python.said" 2>&1
	status=$?
	expect "python's own tests" "$(tail -n 5 "$dir/python.said")" $status -eq 0
}

run_rocksdb() {
	own "$(command -v db_bench)" rocks
	install -d -o nobody "$dir/rocks"
	"${with[@]}" "${as_nobody[@]}" "$dir/rocks_$tag" --db="$dir/rocks" --threads=4 \
		--benchmarks=fillrandom,readrandom,overwrite,compact \
		--num=$((10000 * each)) --value_size=400 \
		>"$dir/rocks.said" 2>&1
	status=$?
	expect "db_bench of RocksDB" "$(tail -n 5 "$dir/rocks.said")" $status -eq 0
	no_errors RocksDB "$dir/rocks/LOG" 'corruption|io error|assert'
	sampled RocksDB "rocks_$tag" 20
}

begin_driver -s 500 -h 1 -a "$library"
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
for program in ${PROGRAMS:-redis postgres mariadb nginx node python rocksdb}; do
	run_$program
done
lost=$(awk '/^counter .*_samples_lost_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
expect "nothing is lost" "$lost" "$lost" -eq 0
end_driver
expect "every run is accounted for" "$(grep '^balance' "$out")" \
	"$(balanced "$out" && echo yes)" = yes
