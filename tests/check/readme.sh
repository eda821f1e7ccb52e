#!/bin/bash
# README.md is two screens, a dozen figures and a map, all true: files and
# rooms that it names are there, and the way of a sample is short.
set -u
cd "$(dirname "$0")/../.." || exit 1
SCREENS=114 WAY_MAX=40 ENTERED_MAX=2
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

n=$(wc -l <README.md)
expect_empty "README.md has at most $SCREENS lines" \
	"$([ "$n" -le $SCREENS ] || echo "$n")"
# "    FOLDER  FILE...  what happens there", from the kernel to the pixel
way=$(awk '/^A sample/ { on = 1 } /^## / { on = 0 }
	on && /^    [a-z]/ {
		for (i = 2; i <= NF && $i ~ /\.(c|h|js)$/; i++)
			print $1 "/" $i
	}' README.md)
n=$(wc -l <<<"$way")
if [ "$n" -gt 20 ] && [ "$n" -le $WAY_MAX ]; then
	ok "a sample crosses $n files, at most $WAY_MAX"
else
	not_ok "a sample crosses at most $WAY_MAX files" "$way"
fi
expect_empty "each of them is there" "$(while read -r f; do
	[ -e "$f" ] || echo "$f"; done <<<"$way")"
expect_empty "the way enters a folder twice at most" "$(
	sed 's,/[^/]*$,,' <<<"$way" | uniq | sort | uniq -c |
		awk -v max=$ENTERED_MAX '$1 > max')"
expect_empty "what is named with its folder is there" "$(
	grep -oE '`?(collector|store|fcgi|frontend|tests|nginx)/[a-zA-Z0-9_./-]*' \
		README.md | tr -d '`' | sed 's/[.,]$//' | sort -u |
		while read -r f; do [ -e "$f" ] || echo "$f"; done)"
map=$(awk '/^## The rooms/ { on = 1 } /^Beside/ { on = 0 } on' README.md)
expect_empty "each room is drawn" "$(find store collector fcgi -type d |
	while read -r room; do
		ls "$room"/*.[ch] >/dev/null 2>&1 || continue
		grep -qw -e "${room##*/}" <<<"$map" || echo "$room"
	done)"
