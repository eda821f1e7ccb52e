#!/bin/bash
# Subjects of commits fit a line of `git log --oneline`; the why is in the
# body.  Those before SINCE are as they are.
set -u
cd "$(dirname "$0")/../.." || exit 1
SINCE=07abbe2 MOST=72
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
long() { awk -v most=$MOST 'length > most'; }

line=$(printf '%*s' $MOST '' | tr ' ' x)
if [ "$(printf '%s\n%sx\n' "$line" "$line" | long)" = "${line}x" ]; then
	ok "a long subject is seen"
else
	not_ok "a long subject is seen" "$line"
fi
name="subjects have at most $MOST characters"
if ! git rev-parse -q --verify "$SINCE^{commit}" >/dev/null 2>&1; then
	echo "skip - $name: not a clone with its history"
	exit 0
fi
bad=$(git log --format=%s "$SINCE..HEAD" | long)
if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
