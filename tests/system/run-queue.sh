#!/bin/bash
# Histograms of waits for a CPU against /proc/PID/schedstat: two programs on one
# CPU.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
name=rq_${dir##*.}
name=${name:0:15}
cp "$(readlink -f /bin/sh)" "$dir/$name"
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
configure 500ms
# Who tells of executed programs is there for profiles.
printf '[faults]\nenabled = yes\n' >>"$dir/conf"
printf '[disk]\nenabled = yes\nrun-queue = yes\n' >>"$dir/conf"
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
expect "it is attached" "$(grep -c 'source run queue: attached' "$dir/d.log")" 1
# A program that a second thread executes has another number then: its place is
# given back all the same.
map=$(bpftool -j map list | jq '[.[] |
	select(.name == "queued_places" and .max_entries > 1).id] | max')
places() {
	bpftool -j map dump id "$map" |
		jq '[.[].formatted.value.task | select(. != 0)] | length'
}
cat >"$dir/exec.c" <<'END'
#include <pthread.h>
#include <unistd.h>

/* As often as its argument has letters. */
static void *
execute(void *argv)
{
	((char **)argv)[1]++;
	usleep(1000);
	execv(((char **)argv)[0], argv);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 2 || argv[1][0] == '\0')
		return 0;
	pthread_create(&t, NULL, execute, argv);
	pthread_join(t, NULL);
	return 1;
}
END
gcc -O1 -pthread -o "$dir/exec" "$dir/exec.c" || exit 1
before=$(places)
"$dir/exec" "$(printf 'x%.0s' $(seq 400))"
expect "400 programs of second threads: status" $? 0
after=$(places)
expect_true "they keep no places: $before, then $after" \
	test "$after" -lt $((before + 200))
# They begin when their service is known.
for i in 1 2; do
	mkfifo "$dir/go$i"
	begin "$dir/p$i" taskset -c "$cpu" "$dir/$name" -c \
		'read go <"$0"; i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; kill -STOP $$' \
		"$dir/go$i"
	programs[i]=$last
done
expect_true "their service is known" await 60 has "$dir/rec" "groupname=\"*$name"
echo >"$dir/go1"
echo >"$dir/go2"
both() { [ "$(grep -l '^State:.T' "/proc/${programs[1]}/status" "/proc/${programs[2]}/status" | wc -l)" = 2 ]; }
expect_true "both have run" await 60 both
cat "/proc/${programs[1]}/schedstat" "/proc/${programs[2]}/schedstat" >"$dir/true"
until=$(($(date +%s) * 2 + 2))
behind() { [ "$(slots "$dir/rec" 2>/dev/null | tail -n 1)" -gt "$until" ]; }
await 60 behind
end "${programs[1]}" KILL
end "${programs[2]}" KILL
end "$d"
read -r ns n < <(awk '{ ns += $2; n += $3 } END { printf "%.0f %d\n", ns, n }' "$dir/true")
python3 tests/system/histogram-compare.py "$dir/rec" run_queue_seconds "$name" \
	"$n" $((ns - ns / 100)) $((ns + ns / 100))
