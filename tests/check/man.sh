#!/bin/bash
# The manual pages: clean, one for each program, with every option that the
# program's --help names, and pointing to pages that exist.  Routes and
# parameters are compared in test_route, keys in test_route, test_config and
# collector-pages.sh, names of metrics here.
set -u
cd "$(dirname "$0")/../.." || exit 1
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; [ -z "${2:-}" ] || echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

pages=$(find collector fcgi -name '*.[1-8]' | sort)
for page in $pages; do
	if ! command -v mandoc >/dev/null; then
		echo "skip - ${page##*/} is clean: no mandoc"
		continue
	fi
	expect_empty "${page##*/} is clean" \
		"$(mandoc -T lint -W warning "$page" 2>&1)"
done

# What ours is called begins with memlens.
missing=
for name in $(sed -n 's/^\.Xr \(memlens[^ ]*\) \([1-8]\).*/\1.\2/p' $pages |
	sort -u); do
	echo "$pages" | grep -q "/$name$" || missing="$missing $name"
done
expect_empty "pages refer to pages that exist" "$missing"

for program in memlensd memlens-scrape memlens-java memlens-fcgi memlens-draw memlens; do
	page=$(echo "$pages" | grep "/$program\.[18]$")
	if [ -z "$page" ]; then
		not_ok "$program has a page"
		continue
	fi
	if [ ! -x "$BUILD/$program" ]; then
		echo "skip - ${page##*/} names every option: not built"
		continue
	fi
	help=$("$BUILD/$program" --help) missing=
	for option in $(echo "$help" | grep -o -e ' --[a-z][a-z-]*'); do
		grep -qE "^\.It Fl .*Fl Fl ${option#--}( |$)" "$page" ||
			missing="$missing $option"
	done
	for command in $(echo "$help" | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		grep -qE "^\.It (Cm|Ic) $command( |$)" "$page" ||
			missing="$missing $command"
	done
	[ "$(echo "$help" | wc -l)" -gt 4 ] || missing="$missing help"
	expect_empty "${page##*/} names every option" "$missing"
done

# A metric that nobody can look up is a riddle on a dashboard.
missing=
metrics=$(grep -rhoE '"memlens_[a-z_]+"' --include='*.[ch]' store collector \
	fcgi | tr -d '"' | sort -u)
[ "$(wc -l <<<"$metrics")" -ge 60 ] || missing=names
for metric in $metrics; do
	grep -qE "(^|[^a-z_])$metric([^a-z_]|$)" $pages ||
		missing="$missing $metric"
done
expect_empty "a page names every metric" "$missing"
