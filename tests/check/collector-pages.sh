#!/bin/bash
# The scraper's manual page names every key, the examples are good and whole,
# and the units are narrow.  The keys of memlens.conf are compared in
# test_config; that pages are clean and name every option, in man.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; [ -z "${2:-}" ] || echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

# Keys of the scraper: the table in scrape_config.c against the page.
missing=
keys=$(sed -n 's/^    {"scrape", "\([a-z-]*\)".*/\1/p' \
	collector/scrape/scrape_config.c)
[ "$(echo "$keys" | wc -l)" -ge 5 ] || missing=table
for key in $keys service leveldb prometheus; do
	grep -q "^\.It Ic $key$" collector/scrape/memlens-scrape.8 ||
		missing="$missing $key"
done
expect_empty "memlens-scrape.8 names every key" "$missing"

missing=
keys=$(sed -n 's/^    {"java", "\([a-z-]*\)".*/\1/p' \
	collector/java/java_config.c)
[ "$(echo "$keys" | wc -l)" -ge 5 ] || missing=table
for key in $keys; do
	grep -q "^\.It Ic $key" collector/java/memlens-java.8 ||
		missing="$missing $key"
	grep -q "^#$key = " collector/java/memlens-java.conf ||
		missing="$missing $key"
done
expect_empty "memlens-java's page and example name every key" "$missing"

# A mark that stands in a stack has its word in the manual.
missing=
marks=$(grep -oE '"\[[^"]*\]"' store/model/broken.c | tr -d '"')
[ "$(echo "$marks" | wc -l)" -ge 10 ] || missing=table
while read -r mark; do
	grep -qF "$mark" collector/memlensd.8 || missing="$missing $mark"
done <<<"$marks"
expect_empty "memlensd.8 names every mark of a stack" "$missing"

# The examples name every key with its default, and are good once the
# comment signs are gone.
uncommented() { sed 's/^#\([a-z[]\)/\1/; s/^group = .*/group =/' "$1"; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for pair in memlensd:memlens.conf memlens-scrape:scrape/memlens-scrape.conf \
	memlens-java:java/memlens-java.conf; do
	uncommented "collector/${pair#*:}" >"$dir/conf"
	said=$("$BUILD/${pair%:*}" -n -f "$dir/conf" 2>&1)
	if [ "$said" = "configuration OK" ]; then
		ok "the example ${pair#*:} is good"
	else
		not_ok "the example ${pair#*:} is good" "$said"
	fi
done
missing=
for key in $(sed -n 's/^\.It Ic \([a-z-]*\)$/\1/p' collector/memlens.conf.5); do
	case $key in command | cgroup) continue ;; esac
	grep -q "^#\?$key = " collector/memlens.conf || missing="$missing $key"
done
expect_empty "the example memlens.conf names every key" "$missing"

# Scores of systemd-analyze: 10 is wide open.
for pair in memlensd:3.0 scrape/memlens-scrape:2.0 java/memlens-java:3.0; do
	unit=${pair%:*} limit=${pair#*:}
	score=$(systemd-analyze security --offline=yes \
		"$PWD/collector/$unit.service" 2>/dev/null |
		sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p')
	if [ -z "$score" ]; then
		echo "skip - $unit.service is narrow: no systemd-analyze"
	elif awk "BEGIN { exit !($score <= $limit) }"; then
		ok "$unit.service is narrow ($score)"
	else
		not_ok "$unit.service is narrow" "$score is over $limit"
	fi
done
