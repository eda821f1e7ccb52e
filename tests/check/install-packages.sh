#!/bin/bash
# Installing what is missing: another apt that is at work is waited for, other
# failures are told at once.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; sed 's/^/# /' "$dir/out"; }
expect() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1"; fi; }

# An apt-get that is told what to say to each call, in turn.
fake() { printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1" && chmod 755 "$dir/$1"; }
fake id 'echo 0'
fake sleep 'exit 0'
fake dpkg-query 'exit 1'
fake node 'exit 0'
fake npm 'exit 0'
fake apt-get 'line=$(sed -n 1p "$SAYS"); sed -i 1d "$SAYS"
	echo "$*" >>"$SAYS.calls"
	[ "$line" = fine ] && exit; echo "$line"; exit 100'
# install_says LINE... : its status is printed
install_says() {
	printf '%s\n' "$@" >"$dir/says"
	rm -f "$dir/says.calls"
	SAYS=$dir/says POLICY=$dir/policy PATH=$dir:$PATH \
		tests/live/install.sh "to try" some-package >"$dir/out" 2>&1
	echo $?
}
held='E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7'
expect "another apt's lock is waited for" "$(install_says "$held" "$held" \
	fine)" 0
expect "the same while the lists are read" "$(install_says 'E: no package' \
	"$held" fine fine)" 0
expect "dpkg's lock is left to apt-get" "$(grep -c \
	'DPkg::Lock::Timeout=' "$dir/says.calls")" 4
expect "what is not there is told" "$(install_says 'E: no package' fine \
	'E: Unable to locate package some-package' fine) $(grep -c \
	'Unable to locate' "$dir/out")" "1 1"
