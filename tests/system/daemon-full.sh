#!/bin/bash
# The disk is full: said once, batches wait, clients are told 507, and when
# there is room again all that waited is stored.
. "$(dirname "$0")/daemon-lib.bash"
need_root "a full disk"
configure 300ms 100ms
mkdir "$dir/disk"
mount -t tmpfs -o size=4m tmpfs "$dir/disk" 2>/dev/null ||
	{ echo "skip - a full disk: no mount"; exit 77; }
trap 'umount -l "$dir/disk"; finish' EXIT
sed -i 's/^reserve = .*/reserve = 2M/' "$dir/conf"
start_daemon d -s "$dir/disk/store" -w "$dir/rec"
d=$last
await 60 test -s "$dir/rec"
head -c 3M /dev/zero >"$dir/disk/fill"
expect_true "it says so" await 120 said "$dir/d.log" "batches wait"
sleep 2
expect "once" "$(grep -c "batches wait" "$dir/d.log")" 1
expect_true "it lives" kill -0 "$d"
rm "$dir/disk/fill"
expect_true "and goes on" await 120 said "$dir/d.log" "takes batches again"
last_word() { grep "slots: " "$dir/d.log" | tail -n 1; }
none_waits() {
	kill -USR1 "$d"
	sleep 0.2
	grep -q ", 0 waiting" <<<"$(last_word)"
}
await 60 none_waits
expect_text "nothing is lost" "$(last_word)" "0 lost, 0 waiting"
end "$d"
expect "status" "$status" 0
