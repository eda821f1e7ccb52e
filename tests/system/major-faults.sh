#!/bin/bash
# The histogram of major page faults against a program's own clock: it touches
# each page of a file that is on the disk only.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
name=mf_${dir##*.}
name=${name:0:15}
cp "$BUILD/system/majors_oracle" "$dir/$name"
dd if=/dev/urandom of="$dir/pages" bs=1M count=4 conv=fsync status=none
configure 500ms
# Who tells of executed programs is there for profiles.
printf '[faults]\nenabled = yes\n' >>"$dir/conf"
printf '[disk]\nenabled = yes\nmajor-faults = yes\n' >>"$dir/conf"
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
expect "it is attached" "$(grep -c 'source major faults: attached' "$dir/d.log")" 1
# It begins when its service is known.
mkfifo "$dir/go"
"$dir/$name" "$dir/pages" <"$dir/go" >"$dir/true" &
program=$!
pids+=("$program")
exec 9>"$dir/go"
expect_true "its service is known" await 60 has "$dir/rec" "groupname=\"*$name"
echo >&9
expect_true "it has run" await 60 said "$dir/true" ^majors
until=$(($(date +%s) * 2 + 2))
behind() { [ "$(slots "$dir/rec" 2>/dev/null | tail -n 1)" -gt "$until" ]; }
await 60 behind
kill -KILL "$program"
end "$d"
read -r _ n least most <"$dir/true"
if [ "$n" -lt 100 ]; then
	echo "skip - major faults: $n of them, is $dir on a disk?"
	exit 77
fi
python3 tests/system/histogram-compare.py "$dir/rec" major_fault_seconds \
	"$name" "$n" "$least" "$most"
