#!/bin/bash
# Histograms of a disk against /proc/diskstats and against a program's own
# counts and clock: an ext4 on a loop device that nobody else uses.  Then by
# processes that are over before anybody looks at them, and many threads.
. "$(dirname "$0")/daemon-lib.bash"
need_root "a file system of its own"
export PATH=$PATH:/sbin:/usr/sbin
loop=
oracle=dsk_${dir##*.}
oracle=${oracle:0:15}
leave() {
	[ -z "${program:-}" ] || end "$program" KILL
	umount "$dir/fs" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop" 2>/dev/null
	finish
}
trap leave EXIT
command -v mkfs.ext4 losetup >/dev/null || {
	echo "skip - needs mkfs.ext4 and losetup"
	exit 77
}
mkdir "$dir/fs"

# run NAME PROGRAM SYNC-CALLS : a daemon, a new file system, the program
run() {
	mode=$1
	cp "$BUILD/system/$2" "$dir/$oracle"
	configure 500ms
	sed -i '/^interval/i enabled = no' "$dir/conf"
	# Who knows where ended processes come from is there for profiles.
	[ "$mode" != short ] || printf '[faults]\nenabled = yes\n' >>"$dir/conf"
	printf '[disk]\nenabled = yes\nsync-calls = %s\n' "$3" >>"$dir/conf"
	truncate -s 64M "$dir/image"
	start_daemon d -s "$dir/store.$mode" -w "$dir/rec.$mode"
	d=$last
	expect "$mode: all of the probe is attached" \
		"$(grep -c 'source \(disk\|sync\|reclaim\): attached' \
		"$dir/d.log")" 3
	if ! loop=$(losetup -f --show "$dir/image" 2>"$dir/why"); then
		echo "skip - no loop device: $(tail -n 1 "$dir/why")"
		exit 77
	fi
	device=${loop#/dev/}
	grep " $device " /proc/diskstats >"$dir/before"
	if ! mkfs.ext4 -q "$loop" || ! mount "$loop" "$dir/fs"; then
		echo "skip - no ext4 here"
		exit 77
	fi
	begin "$dir/true" "$dir/$oracle" "$dir/fs"
	program=$last
	expect_true "the program has run" await 60 said "$dir/true" ^done
	expect_true "its file system is done with" umount "$dir/fs"
	grep " $device " /proc/diskstats >"$dir/after"
	losetup -d "$loop"
	loop=
	until=$(($(date +%s) * 2 + 2))
	await 60 behind
	end "$program"
	end "$d"
	python3 tests/system/disk-compare.py "$dir" "$dir/rec.$mode" \
		"$device" "$oracle" "$mode" |
		sed "s/ - / - $mode: /"
}
behind() { [ "$(slots "$dir/rec.$mode" 2>/dev/null | tail -n 1)" -gt "$until" ]; }

run ext4 disk_oracle no
run calls disk_oracle yes
run short disk_children no
