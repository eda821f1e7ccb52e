#!/bin/bash
# A type of profiles is a row of store/model/types.c: no other source names
# one, nor an agent's words for it.  The profile that measures a type says its
# name, a heap dump those of its columns, and units have a table of their own.
set -u
cd "$(dirname "$0")/../.." || exit 1
TABLE=store/model/types.c
OWN="^($TABLE|fcgi/format/heap/heap\.c|fcgi/format/jfr/jfr_events\.c|store/model/unit\.c|collector/profile/[a-z_]*\.c):"
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }

names=$(sed -n '/^const struct type types/,/^};/s/^    {"\([a-z_]*\)".*/\1/p' \
	"$TABLE")
if [ "$(wc -l <<<"$names")" -ge 20 ] && grep -qx cpu <<<"$names"; then
	echo "ok - the table of types is read"
else
	not_ok "the table of types is read" "$names"
fi
# Words of one part mean much besides; those of several, and these, do not.
words=$(grep -xE '.*_.*|wall|itimer|goroutines|exceptions' <<<"$names")
words+=$'\n'$(printf '%s\n' process_cpu goroutine contentions delay \
	lock_nanoseconds lock_samples)
any="[\"'\`]($(paste -sd'|' <<<"$words"))[\"'\`]"
# comments may
found=$(grep -rnE "$any" --include='*.[ch]' --include='*.js' \
	--include='*.mjs' --include='*.html' --include='*.conf' \
	--exclude-dir=node_modules --exclude-dir=snapshots \
	store collector fcgi frontend nginx |
	grep -vE "$OWN" | grep -vE ':[0-9]+:[[:space:]]*/?\*' |
	sed 's,/\*.*,,' | grep -E "$any")
if [ -z "$found" ]; then
	echo "ok - no source but the table names a type"
else
	not_ok "no source but the table names a type" "$found"
fi
