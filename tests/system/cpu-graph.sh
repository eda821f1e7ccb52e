#!/bin/bash
# What the parts of real programs cost: kvservice by the linker's map, Debian's
# redis-server by its libraries and packages, a Go and a Rust program by what
# their builders say.  Of each at least 95 % of what was sampled is on nodes
# that are declared, nothing is lost or told twice, and sizes are those of nm
# and size.  CPU time, waits and memory alike.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/databases.sh"
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - cpu-graph: needs root"; exit 77; }
least=${LEAST:-150} # samples of each
free_port kvport
free_port statsport
chmod 755 "$dir"

# ---- programs ----
mkdir "$dir/go" "$dir/go/fold" "$dir/rust" "$dir/rust/src" "$dir/rust/mix" \
	"$dir/rust/mix/src"
cat >"$dir/go/go.mod" <<'END'
module example.org/app
go 1.18
END
cat >"$dir/go/main.go" <<'END'
package main

import (
	"sort"
	"time"

	"example.org/app/fold"
)

func main() {
	for {
		list := fold.Fill(20000)
		sort.Ints(list)
		fold.Sum(list)
		time.Sleep(time.Millisecond)
	}
}
END
cat >"$dir/go/fold/fold.go" <<'END'
package fold

var seen uint64

//go:noinline
func Fill(n int) []int {
	list := make([]int, n)
	for i := range list {
		seen = seen*6364136223846793005 + 1442695040888963407
		list[i] = int(seen >> 40)
	}
	return list
}

//go:noinline
func Sum(list []int) (sum int) {
	for i := 0; i < 20; i++ {
		for _, v := range list {
			sum = sum*31 + v
		}
	}
	return
}
END
cat >"$dir/rust/Cargo.toml" <<'END'
[package]
name = "app"
version = "0.1.0"
edition = "2018"
[dependencies]
mix = { path = "mix" }
[profile.release]
debug = 1
END
cat >"$dir/rust/mix/Cargo.toml" <<'END'
[package]
name = "mix"
version = "0.2.0"
edition = "2018"
END
cat >"$dir/rust/mix/src/lib.rs" <<'END'
#[inline(never)]
pub fn fill(n: usize, seen: &mut u64) -> Vec<u64> {
    (0..n).map(|_| {
        *seen = seen.wrapping_mul(6364136223846793005).wrapping_add(99);
        *seen >> 20
    }).collect()
}
#[inline(never)]
pub fn sum(list: &[u64]) -> u64 {
    (0..20).fold(0, |s, _| list.iter().fold(s, |s: u64, v|
        s.wrapping_mul(31) ^ v))
}
END
cat >"$dir/rust/src/main.rs" <<'END'
#[inline(never)]
fn turn(kept: &mut Vec<Vec<u64>>, seen: &mut u64) -> u64 {
    let mut list = mix::fill(20000, seen);
    list.sort();
    let sum = mix::sum(&list);
    kept.push(list);
    if kept.len() > 100 {
        kept.clear();
    }
    sum
}
fn main() {
    let (mut kept, mut seen, mut all) = (Vec::new(), 1, 0u64);
    loop {
        all ^= turn(&mut kept, &mut seen);
        if all == 7 {
            println!("{}", all);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
END
programs=(kv)
own "$BUILD/kvservice" kv
# The library in parts that Go has is compiled once for all runs of the test.
build_go() {
	cd "$dir/go" || return
	export HOME=$dir GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local \
		CGO_ENABLED=0 GOCACHE=$BUILD/gocache
	go build -o "$dir/go_$tag" . && go list -deps -json . >"$dir/go.json"
}
build_rust() {
	cd "$dir/rust" || return
	export CARGO_TARGET_DIR=$dir/target
	cargo build -q --offline --release &&
		cargo metadata -q --format-version 1 --offline \
		>"$dir/rust.json" &&
		install -m 755 "$dir/target/release/app" "$dir/rust_$tag"
}
if (build_go) >"$dir/go.log" 2>&1; then
	programs+=(go)
else
	not_ok "a Go program is built" "$(head -n 5 "$dir/go.log")"
fi
if ! command -v cargo >/dev/null; then
	echo "skip - a Rust program: cargo is not installed"
elif (build_rust) >"$dir/rust.log" 2>&1; then
	programs+=(rust)
else
	not_ok "a Rust program is built" "$(head -n 5 "$dir/rust.log")"
fi

# ---- they run, and are sampled ----
cat >"$dir/conf" <<END
[store]
slot = 1s
reserve = 0
[offcpu]
enabled = yes
[procfs]
enabled = no
[services]
short-lived = 0s
[socket]
path = $dir/sock
group =
END
begin "$BUILD/memlensd" -f "$dir/conf" -s "$dir/store" 2>"$dir/daemon.log"
daemon=$last
begin "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all \
	2>"$dir/fcgi.log"
begin "$BUILD/memlens" run -- "$dir/kv_$tag" --port "$kvport" \
	--stats-port "$statsport" --db "$dir/db" >"$dir/kv.log" 2>&1
own "$(readlink -f "$(command -v redis-server)")" redis
if start_redis "$dir/redis" "$dir/redis_$tag" >"$dir/redis.log" 2>&1; then
	programs+=(redis)
	load_redis
else
	cat "$dir/redis.log"
fi
for p in "${programs[@]}"; do
	case $p in
	go) begin nice "$dir/go_$tag" ;;
	rust) begin nice "$BUILD/memlens" run -- "$dir/rust_$tag" ;;
	esac
done
await 60 curl -sf -o /dev/null "http://127.0.0.1:$statsport/get_status"
begin "$BUILD/kvload" --port "$kvport" --duration 0 --rate 2000 \
	>"$dir/load.log" 2>&1
await 60 grep -q "ready: " "$dir/daemon.log"
grep -q 'cpu: attached' "$dir/daemon.log" || :

# tell NAME OPTION... : the store, of what the program is made of
tell() {
	"$BUILD/memlens" graph --tell "$1_$tag" --socket "$dir/sock" --slot 1s \
		"${@:2}" "$dir/$1_$tag" 2>"$dir/tell.log" ||
		not_ok "the store is told of $1" "$(cat "$dir/tell.log")"
}
for p in "${programs[@]}"; do
	case $p in
	kv) tell kv --map "$BUILD/kvservice.map" ;;
	redis) tell redis ;;
	*) tell "$p" --build "$dir/$p.json" ;;
	esac
done

# ---- questions ----
ask() { # URI [FILE]
	REQUEST_METHOD=GET REQUEST_URI="/api/v1/$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		sed '1,/^\r*$/d' >"${2:-$dir/answer}"
}
# graph NAME TYPE : the answer, of all that was sampled so far
graph() {
	ask "graph.json?target=$1_$tag&depth=all&query=$2%7Bservice%3D%22$1_$tag%22%7D&from=$began&until=$until"
}
samples_of() { jq -r '.profile.samples // 0' "$dir/answer"; }
enough() { graph "$1" cpu && [ "$(samples_of)" -ge "$least" ]; }
began=$(($(date +%s) - 3600)) until=$(($(date +%s) + 3600))
for p in "${programs[@]}"; do
	await 120 enough "$p" || not_ok "$p is sampled" "$(head -c 600 "$dir/answer")"
done
until=$(date +%s) # what comes later is not asked for

# All of it is somewhere, once: self of nodes, unknown and beyond.
sum='([.nodes[].self] | add) + .profile.unknown + .profile.beyond'
# What has no stack, as waits that were too short for one.
stackless() {
	ask "flamegraph.json?query=$2%7Bservice%3D%22$1_$tag%22%7D&from=$began&until=$until&max-nodes=-1" \
		"$dir/flame"
	jq '.flamebearer as $f | [$f.levels[] as $l | range(0; $l | length; 4) |
		select($f.names[$l[. + 3]] | startswith("[below ")) |
		$l[. + 2]] | add // 0' "$dir/flame"
}
# Parts in a thousand on nodes of what has a stack; and on declared ones of
# what does not end in the kernel, as each wait does (of those, by total), nor
# in the library that memlens run brings.
on_nodes='(1000 * (.profile.total - .profile.unknown) /
	(.profile.total - $below) | floor)'
declared='([.nodes[] | select(.kind == "seen" and
	(.id | test("^\\[kernel|^\\[bpf|^\\[vdso|^libmemlens-alloc")))] | map(.self) | add // 0) as $k |
	[.nodes[] | select(.kind != "seen")] |
	if $waits then 1000 * (map(.total) | max) / ($all - $below)
	else 1000 * (map(.self) | add) / ($all - $k) end | floor'
parts() { jq -r --argjson below "$below" --argjson waits "$waits" \
	".profile.total as \$all | $1" "$dir/answer"; }
# check NAME TYPE [PARTS] : of a thousand that are to be on nodes; 0: it is told
check() {
	local below waits=false most=${3:-950}
	[ "$2" != offcpu ] || waits=true
	below=$(stackless "$1" "$2")
	graph "$1" "$2"
	expect "$1: $2: its parts are the whole" \
		"$(jq -c "[$sum, .profile.total]" "$dir/answer")" \
		"$(jq "(.profile.total > 0) and ($sum) == .profile.total" \
		"$dir/answer")" = true
	expect "$1: $2: and that the flame graph's" \
		"$(jq .flamebearer.numTicks "$dir/flame")" \
		"$(jq .flamebearer.numTicks "$dir/flame")" = \
		"$(jq .profile.total "$dir/answer")"
	expect "$1: $2: the build that ran is the graph's" \
		"$(jq -c '[.build_id, .seen_build_id, .same_build]' "$dir/answer")" \
		"$(jq '.same_build == (if .build_id == "" then null else true end)' \
		"$dir/answer")" = true
	echo "# $1 $2: $(parts "$on_nodes") and $(parts "$declared") of 1000"
	[ "$most" != 0 ] || return 0
	expect "$1: $2: $((most / 10)) % of it are on nodes" \
		"$(parts "$on_nodes") of 1000" \
		"$(parts "$on_nodes")" -ge "$most"
	expect "$1: $2: on declared ones but for the kernel" \
		"$(parts "$declared") of 1000" \
		"$(parts "$declared")" -ge "$most"
}
for p in "${programs[@]}"; do
	check "$p" cpu
	check "$p" offcpu
done
for p in kv rust; do
	[[ " ${programs[*]} " = *" $p "* ]] || continue
	check "$p" alloc_space
	# what was asked for before anybody could walk new code stays: half of it
	# where a small program has just begun
	check "$p" inuse_space 0
done
redis=$(command -v redis-server) &&
	expect "redis: of its package, with its version" "" \
	"$("$BUILD/memlens" graph --collapse "$redis" 2>/dev/null | grep -c \
	"\"$(dpkg-query -S "$(readlink -f "$redis")" | cut -d : -f 1) [0-9].*package")" -ge 1

# ---- sizes ----
# near NAME GOT WANT : within 1 %
near() {
	expect "$1" "$2 bytes, $3 by others" $((100 * $2)) -ge $((99 * $3)) \
		-a $((100 * $2)) -le $((101 * $3))
}
# sum_hex : of a number in each line
sum_hex() {
	local n=0 x
	while read -r x; do n=$((n + 16#$x)); done
	echo $n
}
# code FILE : of all its sections of code
code() {
	readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk '
		$2 == "PROGBITS" && $7 ~ /X/ { print $5 }' | sum_hex
}
# symbols FILE PATTERN : of functions whose names, for people, begin so; each
# place once
symbols() {
	nm -SC --defined-only "$1" | grep -E "^[0-9a-f]+ [0-9a-f]+ [TtWwVi] $2" |
		sort -u -k 1,1 | awk '{ print $2 }' | sum_hex
}
bytes_of() { jq -r --arg id "$1" '[.nodes[] | select(.id == $id) | .bytes] |
	add // 0' "$dir/answer"; }
for p in "${programs[@]}"; do
	graph "$p" cpu
	near "$p: its parts are its code" "$(jq --arg id "${p}_$tag" '
		[.nodes[] | select((.kind | test("object|program|target|package"))
		and .bytes != null) | .bytes] | add' "$dir/answer")" \
		"$(code "$dir/${p}_$tag")"
	case $p in
	go)
		for part in example.org/app/fold runtime sort fmt; do
			[ "$(bytes_of $part)" != 0 ] || continue
			near "go: $part" "$(bytes_of $part)" "$(symbols \
				"$dir/go_$tag" "$part[.][^/]*($|[[(])")"
		done
		;;
	rust)
		near "rust: mix" "$(bytes_of "mix 0.2.0")" \
			"$(symbols "$dir/rust_$tag" '[<&*]*mix::')"
		near "rust: its standard library" \
			"$(bytes_of "Rust's standard library")" \
			"$(symbols "$dir/rust_$tag" '[<&*]*(core|alloc|std)::')"
		;;
	esac
done
