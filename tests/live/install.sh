#!/bin/bash
# Installs the Debian packages that are missing: install.sh PURPOSE PACKAGE...
# Says which and why.  Tools that are there by other means (node from another
# source) count as installed.
set -u
purpose=$1
shift
# A package that provides a command which is already on the PATH is not
# needed; node and npm often come from elsewhere.
command -v node >/dev/null && command -v npm >/dev/null || set -- "$@" nodejs npm

missing=()
for p in "$@"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
		missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "installing $purpose: ${missing[*]}"
if [ "$(id -u)" != 0 ]; then
	echo "memlens: not root: as root, apt-get install ${missing[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# Packages shall not start their services (nginx on port 80 ...).
policy=${POLICY:-/usr/sbin/policy-rc.d} # another one in tests
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy
	trap 'rm -f $policy "$log"' EXIT
fi
# apt COMMAND... : waits for another apt's locks, at most ten minutes; it knows
# itself how to wait for those of dpkg only.
apt() {
	local say=yes
	for _ in $(seq 120); do
		apt-get -q -o DPkg::Lock::Timeout=600 "$@" >"$log" 2>&1 &&
			return
		grep -qE 'Could not get lock|Unable to lock' "$log" || return
		[ -z "$say" ] || echo "waiting for another apt-get"
		say=
		sleep 5
	done
	return 1
}
install() { apt install -y --no-install-recommends "${missing[@]}"; }
if ! install; then
	apt update
	if ! install; then
		tail -n 15 "$log" >&2
		echo "memlens: cannot install ${missing[*]}" >&2
		exit 1
	fi
fi
