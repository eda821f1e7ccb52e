#!/bin/bash
# What one host takes, what breaks first and how it says so: 10,000 services
# that 1,000 clients push at once, with and without keep-alive, while 100 pages
# poll; then more clients at once than nginx lets in.
#
#	limits.sh BUILD
#
# CLIENTS=1000 PUSHES=10 PAGES=100   with keep-alive; without, a fifth of the
#                                    pushes; MORE=2000 at once then
#
# 404 is what a page gets before its service has pushed.  A 429 with
# Retry-After is an overload that is said; any other status but 200, or a
# connection that breaks, is one that is not.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
export BUILD
clients=${CLIENTS:-1000} pushes=${PUSHES:-10} pages=${PAGES:-100}
more=${MORE:-2000} PORT=${PORT:-18891}
ulimit -n "$(ulimit -Hn)"
. tests/api/lib
. tests/api/stack
. tests/bench/lib.sh
start_stack -j 2
start_nginx

# crowd NAME CLIENTS PUSHES PAGES keep|new
crowd() {
	local name=$1 said w0 n0
	shift
	w0=$(cpu_ns $(children "$worker"))
	n0=$(cpu_ns $(children "$target"))
	said=$(tests/bench/limits_push.py "$PORT" "$@") || return 1
	echo "limits: $name: $said"
	jq -r --arg w "$(($(cpu_ns $(children "$worker")) - w0))" \
		--arg n "$(($(cpu_ns $(children "$target")) - n0))" '
		.push.statuses as $p | .page.statuses as $g |
		def bad: del(.["200"], .["404"], .["429"]) | add // 0;
		["stored", ($p["200"] // 0), "pushes"],
		["told to come again (429)", ($p["429"] // 0), "pushes"],
		["failed otherwise", ($p | bad), "pushes"],
		["p50", .push.p50, "ms"], ["p99", .push.p99, "ms"],
		["a second", (.push.n / .seconds | round), "pushes"],
		["nginx, CPU", (($n | tonumber) / .push.n / 1e4 | round / 100),
		    "ms/push"],
		["workers, CPU, pages with it",
		    (($w | tonumber) / .push.n / 1e4 | round / 100), "ms/push"],
		(if .page.n == 0 then empty else
		["pages, 429", ($g["429"] // 0), "answers"],
		["pages, failed otherwise", ($g | bad), "answers"],
		["pages, p99", .page.p99, "ms"] end) | @tsv' <<<"$said" |
		while IFS=$'\t' read -r what value unit; do
			row "limits, $name: $what" "$value" "$unit"
		done
}
crowd "$clients clients, keep-alive" "$clients" "$pushes" "$pages" keep
crowd "$clients clients, a connection each" "$clients" $((pushes > 5 ? pushes / 5 : 1)) "$pages" new
crowd "$more clients at once" "$more" 1 0 new
