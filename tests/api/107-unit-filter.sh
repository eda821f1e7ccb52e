#!/bin/sh
# What the systemd unit of the worker allows is enough for its walls and for
# the program that draws.  Landlock's calls are in no group that a service
# usually has: the unit once kept every worker from its own wall, silently.
. tests/api/lib
unit='fcgi/memlens-fcgi@.service'
command -v systemd-analyze >/dev/null && systemd-analyze syscall-filter \
    >"$T/groups" 2>/dev/null || {
	echo "skip - the unit's filter: no systemd-analyze"
	exit 77
}
# names and groups of $*, without groups
expand()
{
	for name; do
		case $name in
		@*) expand $(awk -v g="$name" '/^@/ { in_it = $1 == g; next }
			in_it && $1 !~ /^#/ { print $1 }' "$T/groups") ;;
		*) echo "$name" ;;
		esac
	done
}
expand @default $(sed -n 's/^SystemCallFilter=//p' "$unit") | sort -u \
    >"$T/names"
check "the unit's filter is known" test "$(wc -l <"$T/names")" -gt 200
# a sanitizer starts where a filter has begun
sanitized || {
	"$B/unit/test_sandbox" >"$T/wanted"
	"$B/api/filtered" "$T/names" "$B/unit/test_sandbox" >"$T/body"
	check "its walls stand behind the unit's filter" cmp -s "$T/wanted" \
	    "$T/body"
	"$B/api/filtered" "$T/names" "$B/unit/test_walls" >"$T/body"
	check "and those of what draws" grep -q '^ok - what_is_refused' "$T/body"
}
export ASAN_OPTIONS=detect_leaks=0 # that looks from where a filter ends it
mkdir "$T/bin"
printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$(realpath "$B/api/filtered")" \
    "$T/names" "$(realpath "$B/memlens-fcgi")" >"$T/bin/memlens-fcgi"
chmod 755 "$T/bin/memlens-fcgi"
printf '[graph g]\nbazel = %s\n' "$PWD/tests/data/kv_service-full.graph" \
    >"$T/conf"
END=1700000000
fill
B=$T/bin
run_worker -c "$T/conf"
get GET "/api/v1/flamegraph.png?query=cpu&from=1699998600&until=1699998700"
check "a PNG is drawn behind it" status 200
get GET /api/v1/graph.svg
check "and the picture of a graph" status 200
exit $bad
