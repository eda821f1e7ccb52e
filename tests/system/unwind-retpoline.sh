#!/bin/bash
# The kernel's own unwinder finds no way out of the code by which it calls what
# a register points to; we do: such a stack goes up to where the program has
# called, by callers that are each other's in stacks that the kernel has walked.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
gcc -O2 -o "$dir/calls_$tag" -x c - <<'END' || { not_ok "compiles"; exit 1; }
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	struct epoll_event event = {EPOLLIN};
	int sockets[2], pipes[2], zero = open("/dev/zero", O_RDONLY);
	int all = epoll_create1(0);
	char bytes[64] = {0};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || pipe(pipes) ||
	    epoll_ctl(all, EPOLL_CTL_ADD, sockets[1], &event))
		return 1;
	while (write(sockets[0], bytes, 64) == 64 &&
	    epoll_wait(all, &event, 1, 0) == 1 &&
	    read(sockets[1], bytes, 64) == 64 &&
	    write(pipes[1], bytes, 8) == 8 && read(pipes[0], bytes, 8) == 8 &&
	    read(zero, bytes, 64) == 64 && lseek(zero, 0, SEEK_CUR) == 0)
		continue;
	return 1;
}
END
thunk=';(__pi_)?__x86_indirect_thunk_[a-z0-9]+ [0-9]+$'
begin "$dir/calls_$tag"
plenty() { at_least 10000 . || at_least 60 "$thunk"; }
sample_until plenty -h 997 -s 1000
all=$(samples "$out" .) n=$(samples "$out" "$thunk")
echo "# $n of $all samples are in such code"
if [ "$n" -eq 0 ]; then
	echo "skip - this kernel calls what a register points to by itself"
	exit 77
fi
m=$(samples "$out" '\[no kernel callers\]')
expect "none lacks its callers" "$m of $n" "$m" -eq 0
entry=';main;[^;]+;entry_SYSCALL_64_after_hwframe;(do|x64)_sys[^;]*;'
m=$(samples "$out" "$entry.*$thunk")
expect "they go up to where the program has called" "$m of $n" \
	$((n - m)) -le $((n / 20)) # the timer's interrupt has them, too
# pairs of such stacks, but for the leaf, that no other stack has
strange=$(grep -a "^stack .* calls_$tag " "$out" | T=$thunk awk '
	{
		sub(/.*entry_SYSCALL_64_after_hwframe;/, "")
		sub(/ [0-9]+$/, "")
		of = (";" $0 " 1") ~ ENVIRON["T"]
		n = split($0, f, ";") - of
		for (i = 2; i <= n; i++)
			if (of) mine[f[i - 1] " " f[i]]++
			else known[f[i - 1] " " f[i]]
	}
	END { for (p in mine) if (!(p in known)) print mine[p], p }')
expect "by callers that the kernel knows, too" "$strange" \
	"$(echo "$strange" | awk '{ n += $1 } END { print n + 0 }')" -le \
	$((n / 20))
