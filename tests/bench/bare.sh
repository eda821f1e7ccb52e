#!/bin/bash
# Both commands of README.md where nothing was ever installed: a Debian 12
# root made by mmdebstrap, this commit cloned below its /root, run in a chroot
# with /proc, /sys and /dev.  Not among the benches of run.sh: it takes half
# an hour and needs the network of packages.
#
#	bare.sh [FOLDER]     the root is made there, or used again (an empty
#	                     one of its own, which is removed, by default)
#
# ONLY=run or ONLY=check does one of both.  Prints the seconds until
# `make run` answers, and what `make check` ends with; status 0 when all is
# well.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
[ "$(id -u)" = 0 ] || { echo "bare.sh: needs root" >&2; exit 77; }
command -v mmdebstrap >/dev/null || {
	echo "bare.sh: needs mmdebstrap" >&2
	exit 77
}
if [ -z "${IN_NAMESPACE:-}" ]; then
	root=${1:-$(mktemp -d /var/tmp/memlens-bare.XXXXXX)}
	root=$root IN_NAMESPACE=1 \
		unshare --mount --propagation private "$0"
	status=$?
	[ -n "${1:-}" ] || rm -rf "$root"
	exit $status
fi

# The mounts end with the namespace.
make_root() {
	if [ ! -x "$root/usr/bin/apt-get" ]; then
		cat /etc/apt/sources.list.d/debian.sources \
			/etc/apt/sources.list 2>/dev/null |
			mmdebstrap --variant=important bookworm "$root" - ||
			exit 1
	fi
	# the way to the packages, and whom this host trusts there
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	cp /etc/ssl/certs/ca-certificates.crt "$root/root/trusted.crt"
	for d in proc sys dev; do
		mount --rbind "/$d" "$root/$d" || exit 1
	done
	# what it takes to have a clone and to say make
	chroot "$root" apt-get update -q >/dev/null &&
		chroot "$root" apt-get install -y -q --no-install-recommends \
			git make ca-certificates >/dev/null || exit 1
	rm -rf "$root/root/memlens"
	git clone -q "$top" "$root/root/memlens" || exit 1
	git -C "$top" rev-parse --short HEAD
}

inside() {
	chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
		npm_config_cafile=/root/trusted.crt \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		bash -c "cd /root/memlens && $*"
}

# make run, until it answers with data; then Ctrl-C
try_run() {
	local began=$SECONDS pid answer=
	inside exec setsid make PORT="$port" run >"$root/run.log" 2>&1 &
	pid=$!
	while [ $((SECONDS - began)) -lt 900 ] && kill -0 $pid 2>/dev/null; do
		answer=$(curl -sf "http://127.0.0.1:$port/api/v1/health")
		[ -z "$answer" ] || break
		sleep 1
	done
	echo "make run answered after $((SECONDS - began)) s: ${answer:0:60}"
	kill -TERM -- "-$(pgrep -f "live/run.sh build $port" | head -n 1 |
		xargs -r ps -o pgid= -p | tr -d ' ')"
	wait $pid
	[ -n "$answer" ] || tail -n 20 "$root/run.log"
	[ -n "$answer" ]
}

try_check() {
	local began=$SECONDS
	inside CI=true make check >"$root/check.log" 2>&1 </dev/null
	local status=$?
	grep -E 'FAILED|^not ok|flaky' "$root/check.log"
	echo "make check took $((SECONDS - began)) s:" \
		"$(tail -n 1 "$root/check.log")"
	return $status
}

make_root
. tests/live/port.sh
free_port port
bad=0
[ "${ONLY:-run}" != run ] || try_run || bad=1
[ "${ONLY:-check}" != check ] || try_check || bad=1
exit $bad
