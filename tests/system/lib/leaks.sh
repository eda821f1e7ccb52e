# A leak beside a cache that fills and stays, and a burst, in a control group
# that has 200 MiB: what the two tests of leaks share; sourced after
# daemon-lib.bash, with a daemon and workers that listen at $dir/fcgi.
# $oracle is the program, and its name the service; $sampling what its heap says
# of how often it is sampled.
oracle=${oracle:-$BUILD/system/leaks_oracle}

# A control group that has 200 MiB, of whichever version.
below=$(awk -F: '$2 ~ /(^|,)memory(,|$)/ { print "memory" $3 }' /proc/self/cgroup)
group=/sys/fs/cgroup/$below/memlens-leaks-$$
limit=memory.limit_in_bytes
[ -n "$below" ] || limit=memory.max
mkdir "$group" 2>/dev/null && echo 200M >"$group/$limit" 2>/dev/null || group=
leave_group() { [ -z "$group" ] || rmdir "$group" 2>/dev/null; }
trap 'finish; leave_group' EXIT

# begin_oracle DUMP VARIABLE=VALUE... : with such an environment
begin_oracle() {
	mkfifo "$dir/in" "$dir/out"
	(
		[ -z "$group" ] || echo $BASHPID >"$group/cgroup.procs"
		exec env "${@:2}" "$oracle" "$1" \
			<"$dir/in" >"$dir/out" 2>"$dir/oracle.err"
	) &
	program=$!
	pids+=("$program")
	exec {to}>"$dir/in" {from}<"$dir/out"
	began=$EPOCHREALTIME
	steps=0
}

# step : one more, half a second after the one before; false when it is gone
step() {
	local left
	steps=$((steps + 1))
	left=$(awk -v a="$began" -v b="$EPOCHREALTIME" -v n=$steps \
		'BEGIN { d = a + n / 2 - b; print (d > 0 ? d : 0) }')
	sleep "$left"
	{ echo >&"$to"; } 2>/dev/null && read -r -t 20 _ <&"$from"
}
trap '' PIPE

ask() {
	REQUEST_METHOD=GET REQUEST_URI="$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d'
}
leaks() { # FROM UNTIL FILTER
	ask "/api/v1/leaks?service=${oracle##*/}&from=$1&until=$2" >"$dir/answer"
	jq -r "$3" "$dir/answer"
}

# judge : the suspects while it lives, and the end of its memory
judge() {
	local i now range slope at paused ended error
	for ((i = 0; i < 40; i++)); do
		step || { not_ok "the program lives" "$(cat "$dir/oracle.err")"; return; }
	done
	now=$EPOCHREALTIME
	sleep 2 # what was pulled is in the store
	range="$(awk -v a="$began" 'BEGIN { printf "%.6f", a }') ${now}"
	expect "by the heap's profile" "$(leaks $range .by)" inuse_space
	expect "the leak alone is a suspect, not the cache, not the burst" \
		"$(leaks $range '[.suspects[] | .stack | map(select(IN("leaks", "fills", "bursts")))[]] | join(" ")')" leaks
	expect "how often it is sampled is told" "$(leaks $range .sampling)" "$sampling"
	slope=$(leaks $range '.suspects[0].slope')
	expect_true "it leaks 4 MiB a second ($slope)" awk -v s="$slope" \
	'BEGIN { d = s / 4194304; exit !(d > 0.8 && d < 1.2) }'

	# ---- the end ----

	if [ -z "$group" ]; then
		echo "skip - the end of a control group: none can be made"
		return
	fi
	# after the cache is full and the burst has gone
	range="$(awk -v b="$now" 'BEGIN { printf "%.6f", b - 9 }') $now"
	expect "the control group ends first" "$(leaks $range .memory_ends.of)" cgroup
	at=$(leaks $range .memory_ends.at)
	began=$(awk -v b="$EPOCHREALTIME" -v n=$steps 'BEGIN { printf "%.6f", b - n / 2 }')
	paused=$(awk -v a="$now" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	while step && ((steps < 200)); do :; done
	ended=$EPOCHREALTIME
	wait $program
	expect "it was killed for want of memory" $? 137
	error=$(awk -v n="$now" -v p="$paused" -v at="$at" -v e="$ended" \
	'BEGIN { print (at - n) / (e - p - n) }')
	expect_true "told of its end: $error of the time that it had" awk \
		-v e="$error" 'BEGIN { exit !(e > 0.8 && e < 1.2) }'
}
