#!/bin/bash
# Packages of Go and crates of Rust, by what their builders tell, and what
# they cost by the names of functions.
. tests/api/lib
. tests/api/stack
dot() { "$B/memlens" graph --depth all "$@" >"$T/body" 2>"$T/head"; }
edge() { grep -q "\"$1\" -> \"$2\" \[class=\"$3\"" "$T/body"; }
cat >"$T/go.json" <<'END'
{"ImportPath": "strings", "Name": "strings", "Standard": true,
 "Imports": ["unsafe"]}
{"ImportPath": "unsafe", "Name": "unsafe", "Standard": true}
{"Dir": "/src/hash", "ImportPath": "example.org/hash.v2", "Name": "hash",
 "Module": {"Path": "example.org/hash.v2", "Version": "v2.0.1",
  "Replace": {"Path": "x"}}, "Imports": ["strings", "C"],
 "Deps": ["strings", "unsafe"]}
{"ImportPath": "example.org/shop", "Name": "main",
 "Module": {"Path": "example.org/shop", "Main": true},
 "Imports": ["example.org/hash.v2", "strings"]}
END
check "go list is read" dot "$T/go.json"
check "a package needs what it imports" edge example.org/shop strings needs
check "its module is its package" grep -q 'example.org/hash.v2' "$T/body"
check "and no more" [ "$(grep -c -e '->' "$T/body")" = 4 ]
check "cgo is no package" sh -c "! grep -q '\"C\"' '$T/body'"
check "all of it is known" [ ! -s "$T/head" ]
head -c 300 "$T/go.json" >"$T/half.json"
dot "$T/half.json"
check "half of it is known to be half" grep -q 'not all' "$T/head"
cat >"$T/cargo.json" <<'END'
{"packages": [
 {"name": "hash-tool", "version": "0.3.1", "id": "p#hash-tool@0.3.1"},
 {"name": "winapi", "version": "0.3.9", "id": "p#winapi"},
 {"name": "proptest", "version": "1.0.0", "id": "p#proptest"},
 {"name": "shop", "version": "0.1.0", "id": "p#shop"}],
 "resolve": {"nodes": [
 {"id": "p#hash-tool@0.3.1", "deps": [{"name": "winapi", "pkg": "p#winapi",
  "dep_kinds": [{"kind": null, "target": "cfg(windows)"}]}]},
 {"id": "p#winapi", "deps": []}, {"id": "p#proptest", "deps": []},
 {"id": "p#shop", "deps": [{"name": "hash_tool", "pkg": "p#hash-tool@0.3.1",
  "dep_kinds": [{"kind": null, "target": null}]}, {"name": "proptest",
  "pkg": "p#proptest", "dep_kinds": [{"kind": "dev", "target": null}]}]}],
 "root": "p#shop"}, "version": 1}
END
check "cargo metadata is read" dot "$T/cargo.json"
check "a crate needs a crate" edge 'shop 0.1.0' 'hash-tool 0.3.1' needs
check "on one system alone" edge 'hash-tool 0.3.1' 'winapi 0.3.9' condition
check "what only tests need is not there" sh -c \
    "! grep -q proptest '$T/body'"

# Against go's own words, where it is there.
if command -v go >/dev/null; then
	mkdir -p "$T/m/in"
	printf 'module example.org/m\n\ngo 1.19\n' >"$T/m/go.mod"
	printf 'package main\n\nimport "example.org/m/in"\n\nfunc main() { println(in.F()) }\n' \
		>"$T/m/main.go"
	printf 'package in\n\nimport "strings"\n\nfunc F() string { return strings.Repeat("a", 3) }\n' \
		>"$T/m/in/in.go"
	(cd "$T/m" && HOME=$T GOFLAGS=-mod=mod GOPROXY=off go list -deps -json . \
		>"$T/list.json" && HOME=$T GOFLAGS=-mod=mod GOPROXY=off go list \
		-deps -f '{{$p := .ImportPath}}{{range .Imports}}"{{$p}}" -> "{{.}}"
{{end}}' . | grep -v '"C"' | grep . | sort -u >"$T/want")
	dot "$T/list.json"
	sed -n 's/^\t\(".*" -> "[^"]*"\) \[class="needs.*/\1/p' "$T/body" |
		sort -u >"$T/got"
	check "edges are go's own" sh -c "test -s '$T/want' &&
	    cmp '$T/want' '$T/got'"
fi

start_stack
at="from=1700000000&until=1700000010"
for n in go cargo; do
	"$B/memlens" graph --tell $n --socket "$T/memlensd.sock" "$T/$n.json" || exit 1
done
cat >"$T/go.folded" <<'END'
main.main;example.org/hash%2ev2.(*T).Of;strings.Repeat 5
main.main;example.org/hash%2ev2.Map[go.shape.int].func1 3
runtime.mcall 2
END
cat >"$T/cargo.folded" <<'END'
shop::main;<hash_tool::Table as core::ops::Index>::index;alloc::vec::push 5
shop::main;hash_tool::of 3
__libc_start_main 2
END
for n in go cargo; do
	put "$T/$n.folded" "/ingest?name=$n.cpu&$at&sampleRate=100"
done
asked()
{
	get GET "/api/v1/graph.json?target=$1&depth=all&query=cpu%7Bservice%3D%22$1%22%7D&$at" &&
	    js 'd.profile.total === 10e7'
}
has() { js "['$1'].every((id) => ((n) => n.self === $2e7 && n.total === $3e7)(
    d.nodes.find((n) => n.id === id)))"; }
check "a profile of Go" await 60 asked go
check "methods and generic functions are their package's" has \
    example.org/hash.v2 3 8
check "main is the program's package" has example.org/shop 0 8
check "what is of no package is unknown" js 'd.profile.unknown === 2e7'
check "a profile of Rust" await 60 asked cargo
check "crates by the names of functions" has 'hash-tool 0.3.1' 3 8
check "what the compiler brings" has "Rust\\'s standard library" 5 5
exit $bad
