#!/bin/bash
# One order of includes (includes.clang-format): which file keeps it not.
#
#	include-order.sh            checks all files
#	include-order.sh -i         mends them
#
# BPF programs are left out: their headers want what stands before them.
set -u
cd "$(dirname "$0")/../.." || exit 1
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
files() {
	find store collector fcgi tests -name node_modules -prune -o \
		-name '*.[ch]' ! -name '*.bpf.*' ! -path 'tests/data/*' -print
}
format=$(command -v clang-format-14 || command -v clang-format) || {
	not_ok "there is a clang-format" "install clang-format-14"
	exit 1
}
# order OPTION... : with the option, each file of standard input, its first
# #include to its last one
order() {
	awk '{
		file = $0; n = first = last = 0
		while ((getline line <file) > 0) {
			n++
			if (line !~ /^[ \t]*#[ \t]*include/) continue
			if (!first) first = n
			if (last && n > last + 6) break
			last = n
		}
		close(file)
		if (first) print "--lines=" first ":" last, file
	}' | xargs -r -P 2 -n 2 "$format" \
		--style=file:tests/check/includes.clang-format "$@" 2>&1
}
if [ "${1:-}" = -i ]; then
	files | order -i
	exit
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#include "b.h"\n#include <stdio.h>\n' >"$dir/a.c"
bad=$({ files; echo "$dir/a.c"; } | order -n |
	sed -n 's/^\([^:]*\):.*-Wclang-format.*/\1/p' | sort -u)
if grep -qxF "$dir/a.c" <<<"$bad"; then
	ok "an include out of order is seen"
else
	not_ok "an include out of order is seen" "$bad"
fi
bad=$(grep -vxF "$dir/a.c" <<<"$bad")
if [ -z "$bad" ]; then
	ok "includes stand in their order"
else
	not_ok "includes stand in their order (include-order.sh -i mends)" "$bad"
fi
