#!/bin/bash
# A reload loses nothing of what is taken as before: in its slots threads have
# all of their time, and so do the histograms.  Where settings are other ones
# it says what is missing.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
name=wr_${dir##*.}
name=${name:0:15}
cp "$BUILD/system/identity_oracle" "$dir/$name"
configure 1s
cat >>"$dir/conf" <<END
[faults]
enabled = yes
[offcpu]
enabled = yes
[alloc_space]
enabled = no
[disk]
enabled = yes
run-queue = yes
END
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
for i in 1 2 3; do
	begin "$dir/true$i" "$dir/$name" work 6000
	programs[i]=$last
done
expect_true "they are seen" await 60 has "$dir/rec" "thread_seconds_total{service=\"$name\""
reloads=0
reloaded() { [ "$(grep -c "configuration reloaded" "$dir/d.log")" = "$reloads" ]; }
# reload LINES : adds them to the file
reload() {
	printf "$1" >>"$dir/conf"
	reloads=$((reloads + 1))
	kill -HUP "$d"
	await 60 reloaded
}
for i in 1 2 3; do
	sleep 0.7
	reload "[service nobody$i]\ncomm = ^nobody$i\$\n"
done
expect_text "nothing is missing" "$(grep -c "are missing" "$dir/d.log")" '^0$'
wait "${programs[@]}"
last_slot=$(date +%s)
behind() { [ "$(slots "$dir/rec" | tail -n 1)" -gt "$last_slot" ]; }
await 60 behind
# What it did before its program began may be of the one that began it.
read -r least most queued before < <(awk '$1 == "lived" { a += $2; b += $3
	n += $5; m += $6 } END { printf "%.0f %.0f %.0f %.0f\n", a, b, n, m
	}' "$dir"/true?)
cp "$dir/rec" "$dir/rec.1"
python3 tests/system/waits-compare.py "$dir/rec.1" "$name" "$least" "$most" "$queued" "$before"

reload '[offcpu]\nthreshold = 2ms\n'
expect_text "what began anew says so" "$(tail -n 3 "$dir/d.log")" \
	"reloaded; .*: [0-9]* ms are missing of offcpu, faults$"
marked() { mlb "$dir/rec" facts | grep -q "reload: [0-9]* ms are missing of offcpu, faults$"; }
expect_true "so does a mark" await 60 marked
end "$d"
expect "status" "$status" 0
