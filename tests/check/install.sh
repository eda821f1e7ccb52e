#!/bin/bash
# make install: every path leads to what was installed, an operator's
# configuration outlives the next one, and the workers' sockets a stop of the
# daemon.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:?folder of the build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; [ -z "${2:-}" ] || echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

install_it() {
	make --no-print-directory B="$BUILD" DESTDIR="$dir" PREFIX=/opt/m \
		SYSCONFDIR=/opt/etc UNITDIR=/units install >"$dir/log" 2>&1
}
if install_it; then ok "installs"; else not_ok "installs" "$(cat "$dir/log")"; fi

missing=$(cat "$dir"/units/* "$dir"/opt/etc/memlens/memlens-site.conf |
	sed 's/#.*//' | grep -oE '(/opt|/usr|/etc)/[a-z/.-]*memlens[a-z/.-]*' |
	sort -u |
	while read -r path; do
		[ -e "$dir$path" ] || echo "$path is not installed"
	done)
expect_empty "units and site name what is installed" "$missing"

draw=$(sed -n 's/^# draw = //p' "$dir/opt/etc/memlens/memlens-fcgi.conf")
expect_empty "what draws is beside the worker, as its configuration says" "$(
	[ "$draw" = /opt/m/lib/memlens/memlens-draw ] &&
	[ -x "$dir$draw" ] && [ -x "$dir${draw%-draw}-fcgi" ] ||
		echo "$draw is not installed")"

echo "# mine" >>"$dir/opt/etc/memlens/memlens.conf"
install_it
expect_empty "a changed configuration is not overwritten" \
	"$(tail -n 1 "$dir/opt/etc/memlens/memlens.conf" | grep -vx '# mine')"

# systemd empties the folder of a stopped service that does not say so.
expect_empty "the workers' sockets outlive the daemon" "$(
	grep -q '^ListenStream=/run/memlens/' "$dir"/units/*.socket &&
	grep -q '^RuntimeDirectory=memlens$' "$dir/units/memlensd.service" &&
	! grep -qx 'RuntimeDirectoryPreserve=yes' \
		"$dir/units/memlensd.service" && echo "they are removed")"
