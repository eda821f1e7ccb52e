# A port for a test's server; sourced, by bash.
#
# free_port NAME : a port of this host that nobody listens on, in $NAME.  It
# is kept for this process and what it starts: no other test gets it.  Ports
# from 32768 on are what the kernel gives to clients; these are not of them.
free_port() {
	local folder=/tmp/memlens-ports n try lock
	mkdir -p -m 1777 "$folder"
	for try in {1..200}; do
		n=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		exec {lock}>>"$folder/$n" || continue
		if flock -n "$lock" &&
		    ! (exec 3<>"/dev/tcp/127.0.0.1/$n") 2>/dev/null; then
			printf -v "$1" %s "$n"
			return 0
		fi
		exec {lock}>&-
	done
	echo "not ok - a free port" >&2
	return 1
}
