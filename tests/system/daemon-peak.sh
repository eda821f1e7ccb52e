#!/bin/bash
# Sources that reloads switch off and on: the memory that it takes to open them
# is what one object of BPF programs needs, for the kernel's types, and what
# was closed leaves no children, dead or alive.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
types=/sys/kernel/btf/vmlinux
[ -r "$types" ] || { echo "skip - no types of the kernel"; exit 77; }
configure 1s
sed -i '/^\[cpu\]/,/^enabled/d' "$dir/conf"
cp "$dir/conf" "$dir/good"
cp "$dir/conf" "$dir/off"
cat >"$dir/on" <<'END'
[offcpu]
enabled = yes
[lock]
enabled = yes
[disk]
enabled = yes
run-queue = yes
END
printf '[offcpu]\nenabled = no\n' >>"$dir/off"
start_daemon d -s "$dir/store"
d=$last
grep -q 'source cpu: attached' "$dir/d.log" || {
	echo "skip - no BPF: $(grep 'source cpu' "$dir/d.log")"
	exit 77
}
reloads=0
reloaded() { [ "$(grep -c "configuration reloaded" "$dir/d.log")" = "$reloads" ]; }
kb() { awk -v of="$1:" '$1 == of { print $2 }' "/proc/$d/status"; }
# reload FILE... : are all of its lines the configuration
reload() {
	cat "$@" >"$dir/conf"
	reloads=$((reloads + 1))
	kill -HUP "$d"
	await 60 reloaded
}
most=0
for i in 1 2 3 4; do
	reload "$dir/off"
	before=$(kb VmRSS)
	echo 5 >"/proc/$d/clear_refs"
	reload "$dir/good" "$dir/on"
	more=$(($(kb VmHWM) - before))
	[ "$more" -le "$most" ] || most=$more
done
room=$(($(stat -c %s "$types") * 33 / 10 / 1024))
expect_true "opening takes one object's memory: $most of $room kB" \
	[ "$most" -le "$room" ]
dead() { ps -o stat= --ppid "$d" | grep -c Z; }
expect "no child is left unburied" "$(dead)" 0
expect "those of symbols are two" \
	"$(ps -o comm= --ppid "$d" | grep -c '^memlens-symbols')" 2
