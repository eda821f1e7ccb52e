# The programs of the table of kinds; sourced by run.sh, after cpu.sh.
#
# Of each kind: make_KIND compiles it, if need be, in the background beside
# others; ready_KIND starts what serves, without load, before anything is
# sampled; run_KIND starts it, or the load of what serves.  What is missing is
# the file $dir/missing/KIND, which says why.

named() { # KIND PROGRAM : $as, by which it runs: its service is known by it
	local path
	path=$(command -v "$2") || { missing "$1" "no $2"; return 1; }
	as=$dir/as/$1_$tag
	ln -sf "$(readlink -f "$path")" "$as"
}
missing() { echo "$2" >"$dir/missing/$1"; }
here=tests/kinds

# made KIND COMPILER... : compiles to $dir/as/KIND_TAG
made() {
	local kind=$1 log=$dir/log/make_$1
	shift
	command -v "$1" >/dev/null || { missing "$kind" "no $1"; return; }
	"$@" -o "$dir/as/${kind}_$tag" >"$log" 2>&1 ||
		missing "$kind" "does not compile: $(tail -n 1 "$log")"
}
# runs KIND ARGUMENTS... : what was made
runs() { start "$1" "$dir/as/$1_$tag" "${@:2}"; }
# links KIND PROGRAM ARGUMENTS... : what is installed
links() { ! named "$1" "$2" || start "$1" "$as" "${@:3}"; }
# copied KIND PROGRAM ARGUMENTS...
copied() {
	cp "$2" "$dir/as/$1_$tag"
	start "$1" "$dir/as/$1_$tag" "${@:3}"
}

# ---- what compilers make ----
c=(-I. $here/work.c $here/between.c)
make_plain() { made plain gcc -O2 "${c[@]}"; }
run_plain() { runs plain; }
make_clang() { made clang clang -O2 -fomit-frame-pointer "${c[@]}"; }
run_clang() { runs clang; }
make_stripped() { made stripped gcc -O2 -s "${c[@]}"; }
run_stripped() { runs stripped; }
make_static() { made static gcc -O2 -static "${c[@]}"; }
run_static() { runs static; }
make_musl() { made musl musl-gcc -O2 "${c[@]}"; }
run_musl() { runs musl; }
make_muslst() { made muslst musl-gcc -O2 -static "${c[@]}"; }
run_muslst() { runs muslst; }
make_nocfi() {
	gcc -I. -O2 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -c \
		-o "$dir/between.o" $here/between.c
	made nocfi gcc -I. -O2 $here/work.c "$dir/between.o"
}
run_nocfi() { runs nocfi; }
make_altstack() { made altstack gcc -O2 "${c[@]}"; }
run_altstack() { runs altstack altstack; }
make_recurse() { made recurse gcc -O2 "${c[@]}"; }
run_recurse() { runs recurse recursion; }
make_vdso() { made vdso gcc -O2 "${c[@]}"; }
run_vdso() { runs vdso vdso; }
make_syscall() { made syscall gcc -O2 "${c[@]}"; }
run_syscall() { runs syscall syscall; }
make_context() { made context gcc -O2 $here/context.c; }
run_context() { runs context; }
make_corout() { made corout g++ -std=c++20 -O2 $here/coroutine.cc; }
run_corout() { runs corout; }
make_fortran() { made fortran gfortran -O2 -J "$dir" $here/work.f90; }
run_fortran() { runs fortran; }
make_rust() { made rust rustc -O $here/work.rs; }
run_rust() { runs rust; }
# Its own library is compiled once, and kept.
go_build() {
	GOCACHE=$BUILD/go GOFLAGS=-mod=mod GO111MODULE=off GOTOOLCHAIN=local \
		go build "$@" $here/work.go
}
go_made() {
	command -v go >/dev/null || { missing "$1" "no go"; return; }
	go_build "${@:2}" -o "$dir/as/$1_$tag" >"$dir/log/make_$1" 2>&1 ||
		missing "$1" "$(tail -n 1 "$dir/log/make_$1")"
}
make_go() { go_made go; }
make_gostrip() { go_made gostrip -ldflags='-s -w'; }
run_go() { runs go; }
run_gostrip() { runs gostrip; }
make_ocaml() {
	mkdir "$dir/ocaml" && cp $here/work.ml "$dir/ocaml/"
	made ocaml ocamlopt "$dir/ocaml/work.ml"
}
run_ocaml() { runs ocaml; }
make_haskell() { made haskell ghc -O1 -outputdir "$dir/hs" $here/work.hs; }
run_haskell() { runs haskell; }
java_made() {
	command -v javac >/dev/null || { missing "$1" "no JDK"; return; }
	javac -d "$dir/$1" $here/Work.java
}
make_java() { java_made java; }
make_javafp() { java_made javafp; }
run_java() { links java java -cp "$dir/java" Work; }
run_javafp() {
	links javafp java -XX:+PreserveFramePointer -cp "$dir/javafp" Work
}

# ---- what interprets ----
run_node() { links node node $here/work.js; }
run_nodemap() {
	links nodemap node --perf-basic-prof --no-logfile-per-isolate \
		--logfile="$dir/v8.log" $here/work.js
}
run_python() { links python /usr/bin/python3 $here/work.py; }
run_ruby() { links ruby ruby $here/work.rb; }
run_php() { links php php -n $here/work.php; }
run_perl() { links perl perl $here/work.pl; }
run_lua() { links lua lua5.4 $here/work.lua; }
run_luajit() { links luajit luajit $here/work.lua; }
run_tcl() {
	echo 'while 1 { set l {}; for {set i 0} {$i < 5000} {incr i} {
		lappend l [expr {$i * 7919 % 5000}] }; lsort $l }' >"$dir/work.tcl"
	links tcl tclsh "$dir/work.tcl"
}
run_shell() { links shell bash -c 'while :; do i=$((i + 1)); done'; }
run_openssl() { links openssl openssl speed -seconds 1000 sha256; }

# ---- processes, threads, places ----
run_pointers() { copied pointers "$BUILD/system/cpu_busy" 1000; }
run_threads() { copied threads "$BUILD/system/storm" threads 300 1000; }
run_forker() { copied forker "$BUILD/system/storm" fork 100 1000; }
run_children() { copied children "$BUILD/system/unwind_mix" fork 1000; }
run_signals() { copied signals "$BUILD/system/unwind_mix" threads 1000; }
run_leader() { copied leader "$BUILD/system/unwind_mix" leader 1000; }
make_dlopen() { storm_compile || missing dlopen "does not compile"; }
run_dlopen() { copied dlopen "$BUILD/system/storm" library "$dir/library.so" 1000; }
make_deleted() { made deleted gcc -O2 "${c[@]}"; }
run_deleted() {
	runs deleted
	await 60 eval 'test /proc/$last/exe -ef "$dir/as/deleted_$tag"'
	rm "$dir/as/deleted_$tag"
}
make_chroot() { made chroot gcc -O2 -static "${c[@]}"; }
run_chroot() {
	mkdir "$dir/root" && cp "$dir/as/chroot_$tag" "$dir/root/"
	start chroot chroot "$dir/root" "/chroot_$tag"
}
run_space() {
	mkdir "$dir/space"
	start space unshare --mount --pid --fork --kill-child bash -c '
		mount -t tmpfs none "$1" && cp "$2" "$1/$3" && exec "$1/$3" threads 1000
	' space "$dir/space" "$BUILD/system/unwind_mix" "space_$tag"
}

# ---- databases ----
ready_redis() {
	named redis redis-server && start_redis "$dir/redis" "$as" >&2 &&
		started redis
}
run_redis() { load_redis; }
ready_postgres() {
	[ -n "$postgres_bin" ] ||
		{ missing postgres "no postgresql"; return; }
	cp "$postgres_bin/postgres" "$dir/as/postgres_$tag"
	start_postgres "$dir/postgres" "$dir/as/postgres_$tag" >&2 &&
		started postgres
}
run_postgres() { load_postgres; }
ready_memcache() {
	named memcache memcached || return
	start memcache "${as_nobody[@]}" "$as" -l 127.0.0.1 -p "$memcached_port" \
		-U 0 -t 2
	comes 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$memcached_port"
}
run_memcache() { begin python3 $here/load.py memcached "$memcached_port"; }
ready_mariadb() {
	named mariadb mariadbd || named mariadb /usr/sbin/mariadbd || return
	rm -f "$dir/missing/mariadb"
	install -d -o nobody "$dir/mariadb"
	start mariadb "${as_nobody[@]}" "$as" --no-defaults \
		--datadir="$dir/mariadb" --skip-grant-tables --skip-networking \
		--socket="$dir/mariadb/socket" --innodb-flush-log-at-trx-commit=0
	comes 60 sql -e 'select 1'
}
sql() { mariadb --no-defaults -S "$dir/mariadb/socket" "$@"; }
run_mariadb() {
	begin python3 $here/load.py sql "$(command -v mariadb)" --no-defaults \
		-S "$dir/mariadb/socket"
}
run_rocksdb() {
	links rocksdb db_bench --db="$dir/rocksdb" --num=100000 --threads=1 \
		--benchmarks=fillrandom,readwhilewriting --duration=1000
}
ready_leveldb() {
	named leveldb "$BUILD/kvservice" || return
	start leveldb "$as" --port "$leveldb_port" --stats-port "$leveldb_stats" \
		--db "$dir/leveldb"
	comes 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$leveldb_port"
}
run_leveldb() {
	begin "$BUILD/kvload" --port "$leveldb_port" --duration 0 --rate 4000
}
run_sqlite() {
	echo 'create table t (i integer primary key, s text);
		with recursive n (i) as (select 1 union all select i + 1 from n)
		insert into t select null, hex(i * 7919) from n;' >"$dir/work.sql"
	links sqlite sqlite3 :memory: ".read $dir/work.sql"
}
