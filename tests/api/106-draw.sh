#!/bin/sh
# Pictures are drawn by a program of its own; without it, or when it fails,
# the answer says so and all others go on.
. tests/api/lib
END=1700000000
fill
range='query=cpu%7Bservice%3D%22kv%22%7D&from=1699998600&until=1699998700'
cp tests/data/kv_service-full.graph "$T/g"

# with PATH of the program, or "" for none in the configuration
serve()
{
	[ -z "$worker" ] || { kill "$worker"; wait "$worker"; }
	while [ -n "$worker" ] && kill -0 "$worker"; do sleep 0.05; done
	: >"$T/log"
	{ echo "[worker]"; echo "${1:+draw = $1}"; echo "[graph g]"
	echo "bazel = $T/g"; } >"$T/conf"
	run_worker -c "$T/conf" -j 1
} 2>/dev/null

fails()
{
	get GET "/api/v1/flamegraph.png?$range"
	check "$1: a PNG is a 503" status 503
	check "$1: that says why" js "d.detail.includes('$2')"
	get GET '/api/v1/graph.svg'
	check "$1: the picture of a graph is a 503" status 503
	check "$1: that says why, too" js "d.detail.includes('$2')"
	for what in "flamegraph.svg?$range" "flamegraph.html?$range" graph.json \
	    graph.dot; do
		get GET "/api/v1/$what"
		check "$1: ${what%%\?*} needs none" status 200
	done
}

serve /nonexistent/draw
fails "no such program" '/nonexistent/draw: No such file'
check "it is said at the start" grep -q \
    '/nonexistent/draw: No such file.*no PNG' "$T/log"
serve /bin/cat
fails "a program that fails" 'cat: '

# One stands by for its worker and ends with it; 20 at once are drawn.
serve "$B/memlens-draw"
below() # whose parent is $1
{
	cat "/proc/$1/task/$1/children" | tr -d ' '
}
stands()
{
	below "$(below "$worker")"
}
check "nobody stands by before the first picture" [ -z "$(stands)" ]
get GET "/api/v1/flamegraph.png?$range"
check "the first picture" status 200
first=$(stands)
get GET "/api/v1/graph.svg?depth=2"
check "the second" status 200
check "by the same program" [ -n "$first" ] && [ "$(stands)" = "$first" ]
check "which has drawn all in children of its own" \
    [ -z "$(below "$first")" ]
get GET "/api/v1/flamegraph.png?$range&scale=2"
cp "$T/body" "$T/png"
asked=
for i in $(seq 20); do
	(mkdir "$T/at$i"; ln -s ../sock "$T/at$i/sock"; T=$T/at$i
	get GET "/api/v1/flamegraph.png?$range&scale=2"
	status 200 && cmp "$T/body" "$T/../png") & asked="$asked $!"
done
drawn=0
for i in $asked; do wait "$i" && drawn=$((drawn + 1)); done
check "20 at once are drawn" [ $drawn = 20 ]
check "by the same program, too" [ "$(stands)" = "$first" ]
gone()
{
	[ ! -e "/proc/$first" ]
}
kill -9 "$(below "$worker")"
check "it ends with its worker" await 60 gone

# what a cache answers starts no process
mkdir "$T/bin"
cp "$B/memlens-draw" "$T/bin/draw"
serve "$T/bin/draw"
get GET '/api/v1/graph.svg?depth=2'
check "drawn" status 200
cp "$T/body" "$T/first"
get GET "/api/v1/flamegraph.png?$range"
check "a PNG as well" status 200
rm "$T/bin/draw"
get GET '/api/v1/graph.svg?depth=2'
check "again, without the program" cmp -s "$T/body" "$T/first"
get GET '/api/v1/graph.svg?depth=3'
check "not another one" status 503
cp "$B/memlens-draw" "$T/bin/draw"
get GET '/api/v1/graph.svg?depth=3'
check "a program that is there again is started" status 200
cp "$B/memlens-draw" "$T/bin/new" && mv "$T/bin/new" "$T/bin/draw"
get GET "/api/v1/flamegraph.png?$range"
check "and so is another in its place" status 200
printf '#!/bin/sh\necho no picture today >&2\nexit 1\n' >"$T/bin/new"
chmod 755 "$T/bin/new" && mv "$T/bin/new" "$T/bin/draw"
get GET "/api/v1/flamegraph.png?$range"
check "the very next picture is of the new one" js \
    "d.detail.includes('no picture today') ||
    d.detail.includes('draw: Permission denied')" # Landlock: no /bin/sh

# beside the worker's own program
cp "$B/memlens-fcgi" "$B/memlens-draw" "$T/bin/"
{ kill "$worker"; wait "$worker"; } 2>/dev/null # whose parent is this shell
worker=
(B=$T/bin; serve ""; echo "$worker" >"$T/pid")
worker=$(cat "$T/pid")
get GET '/api/v1/graph.svg?depth=3'
check "found beside the worker" status 200
rm "$T/bin/memlens-draw"
get GET '/api/v1/graph.svg?depth=4'
check "and nowhere else" js "d.detail.includes('$T/bin/memlens-draw: No such')"

echo '[worker]
draw = memlens-draw' >"$T/conf"
"$B/memlens-fcgi" -n -c "$T/conf" >"$T/body" 2>&1
check "a path that depends on the folder is refused" grep -q \
    'draw is "memlens-draw"' "$T/body"

# names that libgvc would take for characters, among them such as XML lacks
printf '"//a&#1;b&lt;" -> "R&D \357\277\277"\n' >"$T/names"
printf 'digraph mygraph {\n  node [shape=box];\n%s\n}\n' \
    "$(cat "$T/names")" >"$T/g"
serve "$B/memlens-draw"
get GET '/api/v1/graph.svg'
check "names are no entities: drawn" status 200
check "names are no entities: well-formed" node tests/api/well-formed.mjs \
    "$T/body"
check "names are no entities: as they are" grep -q '>//a&amp;#1;b&amp;lt;<' \
    "$T/body"

# by hand
draw="$B/memlens-draw"
echo 'digraph { "a<&\"" -> b }' | "$draw" graph >"$T/svg" 2>"$T/said"
check "by hand: an SVG" node tests/api/well-formed.mjs "$T/svg"
"$draw" --scale 3 png <"$T/svg" 2>>"$T/said" | od -An -c -N4 >"$T/body"
check "by hand: a PNG" grep -q '211   P   N   G' "$T/body"
check "by hand: no word" test ! -s "$T/said"
why()
{
	"$draw" $1 <"$T/input" >"$T/out" 2>"$T/body"
	[ $? -eq 1 ] && [ ! -s "$T/out" ] && [ "$(wc -l <"$T/body")" -eq 1 ] &&
	    grep -q "^memlens-draw: $2" "$T/body"
}
echo '<svg' >"$T/input"
check "one line on what is no SVG" why png 'librsvg: XML parse error'
echo 'digraph {' >"$T/input"
check "one line on what is no graph" why graph 'libcgraph: '
echo '<svg xmlns="http://www.w3.org/2000/svg" width="20000" height="20000"/>' \
    >"$T/input"
check "one line on what is too large" why png '20000 x 20000 pixels are more'
for args in '-s 5 png' '-s 2x png' 'pdf' ''; do
	"$draw" $args </dev/null >"$T/body" 2>&1
	check "usage errors are a 2: $args" [ $? -eq 2 ]
done
exit $bad
