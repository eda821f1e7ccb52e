#!/bin/bash
# Whose graph it is: told again when the program is another build, marked
# where another one was sampled, and apart where two programs have one name.
. tests/api/lib
. tests/api/stack
program() # BUILD-ID, exchanged at once
{
	echo "int main(void) { return 0x$1; }" | gcc -x c - -o "$T/new" \
		-Wl,--build-id=0x$1 && mv "$T/new" "$T/prog"
}
# MODULE BUILD-ID FROM [FUNCTION FILE]: 7 samples of its main, or that
push()
{
	cat >"$T/text" <<-END
	sample_type { type: 1 unit: 2 }
	period_type { type: 1 unit: 2 }
	period: 10000000
	sample { location_id: 1 value: 70000000 }
	mapping { id: 1 memory_start: 4096 memory_limit: 8192 filename: 3
		build_id: 4 has_functions: true }
	location { id: 1 mapping_id: 1 address: 4200
		line { function_id: 1 line: 1 } }
	function { id: 1 name: 5 filename: 6 start_line: 1 }
	string_table: "" string_table: "cpu" string_table: "nanoseconds"
	string_table: "/opt/$1" string_table: "$2"
	string_table: "${4:-main}"
	string_table: "${5:-main.c}"
	END
	protoc --encode=pprof.Profile -Ifcgi/format pprof.proto <"$T/text" \
		>"$T/pprof" && put "$T/pprof" \
		"/ingest?name=$1.cpu&from=$3&until=$(($3 + 10))&format=pprof"
}
ask() # FROM [PARAMETER...]
{
	get GET "/api/v1/graph.json?target=${target:-prog}&depth=all&query=cpu%7Bservice%3D%22prog%22%7D&from=$1&until=$(($1 + 10))$2"
}
get_is() { get GET "/api/v1/graph.json?$1" && js "$2"; }
is() { ask "$1" && js "$2"; }

program abcd0123
start_stack
"$B/memlens" graph --every 100ms --tell prog --socket "$T/memlensd.sock" \
	"$T/prog" &
teller=$!
trap 'kill $teller; stop_stack' EXIT
push prog abcd0123 1700000000
check "what was sampled is the graph's build" await 60 is 1700000000 '
    d.build_id === "abcd0123" && d.seen_build_id === "abcd0123" &&
    d.same_build === true && d.profile.total === 7e7'
check "and no other is told of" js '!/another build/.test(d.source) &&
    d.complete === true'
get GET '/api/v1/graph.json?target=prog&depth=2'
check "unknown where nothing was sampled" js 'd.same_build === null &&
    d.seen_build_id === ""'
program beef4567
again() { get GET '/api/v1/graph.json?target=prog' && js 'd.build_id === "beef4567"'; }
check "another build is told" await 60 again
# of a past range the first that is told after it
check "a range has its build" is 1700000000 'd.build_id === "abcd0123" &&
    d.same_build === true'
push prog 77777777 1700000100
check "a program that was sampled in another build is marked" await 60 is \
    1700000100 'd.same_build === false && d.seen_build_id === "77777777" &&
    /another build of it, 77777777/.test(d.source) && d.complete === null'
ask 1700000100 '&node=nosuch'
check "a node that is not there is a 404" status 404
check "and names its field" js 'd.field === "node"'
get GET '/api/v1/graph.json?target=prog&node=nosuch'
check "without a profile, too" status 404
for depth in 5 x 0; do
	get GET "/api/v1/graph.json?target=prog&depth=$depth"
	check "depth=$depth is a 400 that names it" js 'd.field === "depth"'
done

push prog abcd0123 1700000100
check "both builds of one range are apart" await 60 is 1700000100 '
    d.same_build === true && d.seen_build_id === "abcd0123" &&
    /name, 77777777, ran and is a node of its own/.test(d.source) &&
    d.nodes.find((n) => n.id === "prog (build 77777777)").self === 7e7 &&
    d.nodes.find((n) => n.id === "prog").self === 7e7 &&
    d.profile.total === 14e7 && d.profile.unknown === 0'
check "the answer says that it was told later" js '
    /nobody told it before the end of this range/.test(d.source)'

kill $teller
wait $teller 2>/dev/null
long=$(printf '%0255d' 7)
tell() { "$B/memlens" graph --tell "$1" --socket "$T/memlensd.sock" "$T/prog" 2>"$T/head"; }
check "a name of 255 bytes" tell "$long"
check "which is found" await 60 get_is "target=$long" "d.target === '$long'"
check "a longer one is refused" sh -c "! '$B/memlens' graph --tell ${long}8 \
    --socket '$T/memlensd.sock' '$T/prog' 2>'$T/head'"
check "which is said" grep -q 'at most 255' "$T/head"

# The linker's map may come after its program.
echo 'int main(void) { return 3; }' >"$T/m.c"
gcc -o "$T/mapped" "$T/m.c" -Wl,-Map="$T/map" || exit 1
(cd "$T" && exec "$B/memlens" graph --every 100ms --tell mapped --map map \
	--socket "$T/memlensd.sock" mapped) &
teller=$!
check "a program with a map" await 60 get_is target=mapped \
    'd.build_id !== "" && d.complete === false'
gcc -o "$T/again" "$T/m.c" -Wl,-Map="$T/map",--cref || exit 1
check "a map that changes alone is read again" await 60 get_is target=mapped \
    'd.complete === true'
check "the command has paths from the root" js '
    d.command.endsWith(" --map '"$T/map $T/mapped"'")'

# Two files of one name are two nodes, and samples of that name neither's.
mkdir -p "$T/two/a" "$T/two/b"
cp "$T/prog" "$T/two/a/prog"
cp "$T/prog" "$T/two/b/prog"
printf 'rule l\n command = l\nbuild a/prog: l a.c\nbuild b/prog: l b.c\n' \
	>"$T/two/build.ninja"
"$B/memlens" graph --tell two --socket "$T/memlensd.sock" "$T/two" ||
	exit 1
target=two
check "two programs of one name are two nodes" await 60 is 1700000100 '
    d.nodes.filter((n) => /^[ab]\/prog$/.test(n.id) && n.kind === "program")
    .length === 2'
check "and samples of that name are of neither" js '
    d.nodes.every((n) => n.self === (n.id === "prog (several)" ? 14e7 : 0))'

# A folder is told again when what it says changes, and not before.
kill $teller
"$B/memlens" graph --every 100ms --tell two --socket "$T/memlensd.sock" \
	"$T/two" &
teller=$!
echo 'build c/prog: l c.c' >>"$T/two/build.ninja"
third() { get GET '/api/v1/graph.json?target=two&depth=2' && js 'd.nodes.some((n) => n.id === "c/prog")'; }
check "a folder is told again when it says something else" await 60 third
told=$(js 'console.log(d.told) || true' | head -n 1)
sleep 1
third
check "and not before" [ "$(js 'console.log(d.told) || true' | head -n 1)" = "$told" ]

# A source that is also of what the program does not need is its own target's,
# and a name that two of its targets have is neither's.
mkdir -p "$T/static/a" "$T/static/b"
for x in a b; do
	printf 'static int helper(int n) { return n * 3; }\nint f%s(int n) { return helper(n); }\n' \
		$x >"$T/static/$x/u.c"
done
echo 'int fa(int); int fb(int); int main(void) { return fa(1) + fb(2); }' \
	>"$T/static/main.c"
cat >"$T/static/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(static C)
set(CMAKE_C_FLAGS "-g -Wl,--build-id=0x11112222")
add_library(a STATIC a/u.c)
add_library(b STATIC b/u.c)
add_library(objs OBJECT a/u.c)
add_executable(prog main.c)
target_link_libraries(prog a b)
END
mkdir -p "$T/static/build/.cmake/api/v1/query/client-memlens"
touch "$T/static/build/.cmake/api/v1/query/client-memlens/codemodel-v2"
cmake -S "$T/static" -B "$T/static/build" >/dev/null &&
	make -s -C "$T/static/build" >/dev/null || exit 1
"$B/memlens" graph --tell static --socket "$T/memlensd.sock" \
	--build "$T/static/build" --root prog "$T/static/build/prog" || exit 1
push prog 11112222 1700000200 helper nowhere.c
target=static
check "a source that another program has, too, is its target's" await 60 is \
    1700000200 'd.nodes.find((n) => n.id === "a").bytes > 0 &&
    d.nodes.find((n) => n.id === "b").bytes > 0'
check "a name of two targets is neither's" await 10 is 1700000200 '
    d.profile.total === 7e7 && d.nodes.every((n) => n.self ===
    (n.id === "prog" ? 7e7 : 0))'
exit $bad
