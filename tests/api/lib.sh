# What the tests of the HTTP interface share.  Each test sources this file,
# starts a worker on a store whose content is known, asks it over FastCGI
# and prints "ok - name" or "not ok - name".
#
#	start [option...]         a store and a worker on it
#	get METHOD URI [VAR=x...] one request; head and body to $T/head, $T/body
#	status N                  is the status of the last answer N?
#	js EXPRESSION             is it true of the last answer, parsed as `d`?
#	check NAME COMMAND...     prints the line
#
# B is the build folder; programs are run from the top of the tree.

B=${B:-build}
T=$(mktemp -d "${TMPDIR:-/tmp}/memlens-api.XXXXXX")
worker= target=
bad=0

finish()
{
	[ -z "$worker" ] || kill "$worker" 2>/dev/null
	[ -z "$target" ] || kill "$target" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$T"
}
trap finish EXIT
trap 'exit 1' INT TERM

check()
{
	name=$1
	shift
	if "$@"; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		sed 's/^/# /' "$T/head" 2>/dev/null | head -3
		head -c 600 "$T/body" 2>/dev/null | sed 's/^/# /'
		bad=1
	fi
}

# The store ends now, or at $END, and has $SLOTS slots.
fill()
{
	"$B/fill-store" "$T/store" "${END:-$(date +%s)}" "${SLOTS:-720}"
}

run_worker()
{
	"$B/memlens-fcgi" -s "$T/store" -l "$T/sock" -p all "$@" \
	    2>>"$T/log" &
	worker=$!
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ ! -S "$T/sock" ] || return 0
		sleep 0.05
	done
	cat "$T/log"
	exit 1
}

start()
{
	fill
	run_worker "$@"
}

get()
{
	method=$1 uri=$2
	shift 2
	case $uri in
	*\?*) query=${uri#*\?} ;;
	*) query= ;;
	esac
	env "$@" REQUEST_METHOD="$method" REQUEST_URI="$uri" \
	    QUERY_STRING="$query" cgi-fcgi -bind -connect "$T/sock" \
	    >"$T/answer" <"${BODY:-/dev/null}"
	sed '/^\r$/,$d' "$T/answer" | tr -d '\r' >"$T/head"
	sed '1,/^\r$/d' "$T/answer" >"$T/body"
}

status()
{
	grep -q "^Status: $1 " "$T/head"
}

header()
{
	grep -qi "^$1" "$T/head"
}

js()
{
	node -e '
	const d = JSON.parse(require("fs").readFileSync(process.argv[1]));
	const near = (a, b) => Math.abs(a - b) < 1e-9;
	process.exit((0, eval)(`(d, near) => (${process.argv[2]})`)(d, near)
	    ? 0 : 1);' "$T/body" "$1"
}

# Percent-encodes a query.
enc()
{
	node -p 'encodeURIComponent(process.argv[1])' "$1"
}
