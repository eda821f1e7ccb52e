#!/bin/bash
# Rows of Go's code, of Debian's compiler and of a newer one where there is one,
# against what the linker has written for debuggers, as libdw reads it.
set -u
BUILD=${BUILD:?folder of the build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '# %s\n' "$@"; }
# The library is compiled once, and kept.
made() {
	env CGO_ENABLED=0 GO111MODULE=off GOTOOLCHAIN=local HOME="$dir" \
		GOCACHE="$BUILD/go" "$1" build -o "$dir/work" \
		tests/kinds/work.go 2>"$dir/err"
}
of_compiler() {
	local name depth code said
	name=$("$1" env GOVERSION)
	made "$1" || { not_ok "$name compiles" "$(tail -n 1 "$dir/err")"; return; }
	if said=$("$BUILD/system/go_rows_oracle" "$dir/work"); then
		ok "$name: no row differs"
	else
		not_ok "$name: no row differs" "$said"
	fi
	read -r _ _ _ _ _ depth _ code _ <<<"$(tail -n 1 <<<"$said")"
	if [ $((depth * 100)) -ge $((code * 98)) ]; then
		ok "$name: nearly all code has a depth"
	else
		not_ok "$name: nearly all code has a depth" "$said"
	fi
	echo "# $said"
}
compilers=
for go in /usr/lib/go-*/bin/go "$(command -v go)"; do
	version=$("$go" env GOVERSION 2>/dev/null) || continue
	case " $compilers " in *" $version "*) continue ;; esac
	of_compiler "$go"
	compilers="$compilers $version"
done
[ -n "$compilers" ] || echo "skip - no go"
