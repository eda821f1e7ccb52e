#!/bin/bash
# What `make run` cannot do it says at once: in a folder that the programs'
# user cannot enter, or that another run uses.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - live-refused: needs root"; exit 77; }
. tests/live/port.sh
free_port port
free_port KVPORT
free_port STATSPORT
export KVPORT STATSPORT
above=$(mktemp -d /var/tmp/memlens-refused.XXXXXX)
trap 'rm -rf "$above"' EXIT
bad=0

refused() { # NAME TEXT RUN
	if RUN=$3 timeout 60 tests/live/run.sh "$BUILD" "$port" \
		>"$above/said" 2>&1; then
		echo "not ok - $1 - it ran" && bad=1
	elif grep -q "$2" "$above/said"; then
		echo "ok - $1"
	else
		echo "not ok - $1 - $(tail -n 1 "$above/said")" && bad=1
	fi
}

refused "a folder that is closed" "nobody, .* cannot enter $above/run" \
	"$above/run"
chmod 755 "$above"
mkdir -p "$above/run/sockets" "$above/run/log"
touch "$above/run/sockets/query.sock" "$above/run/log/memlensd.log"
exec 9>"$above/run/lock"
flock 9
refused "a folder of another run" "another run .* in $above/run" "$above/run"
if [ -e "$above/run/sockets/query.sock" ] &&
	[ -e "$above/run/log/memlensd.log" ]; then
	echo "ok - whose files stay"
else
	echo "not ok - whose files stay" && bad=1
fi
exit $bad
