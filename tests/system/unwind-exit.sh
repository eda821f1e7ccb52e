#!/bin/bash
# Children of a fork that call functions of many libraries for the first time
# and exit: the code that the linker adds to each file to end it, and its stubs,
# which have entries in .eh_frame or not.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
begun="$begun|};[[]no user (stack|memory)[]];" # on its way out
libraries=40

{
	cat <<-'END'
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <unistd.h>
	END
	for ((i = 0; i < libraries; i++)); do echo "int library$i(int);"; done
	cat <<-'END'
	static volatile int sum;
	static __attribute__((noinline)) void child(void)
	{
	END
	for ((i = 0; i < libraries; i++)); do
		echo "sum += library$i(sum);"
	done
	cat <<-'END'
		exit(0);
	}
	int main(void)
	{
		pid_t pid;
		for (;;) {
			pid = fork();
			if (pid == 0)
				child();
			if (pid > 0)
				waitpid(pid, 0, 0);
		}
	}
	END
} >"$dir/exit.c"
for ((i = 0; i < libraries; i++)); do
	echo "int library$i(int n) { static int m = 1; return n + m++; }" |
		gcc -O2 -fPIC -shared -x c -o "$dir/libx${i}_$tag.so" - ||
		{ not_ok "compiles"; exit 1; }
done
# Their stubs: as ld describes them, and as other linkers do not.
program() { # NAME OPTION
	gcc -O2 -fomit-frame-pointer -Wl,-z,lazy "$2" -o "$dir/$1_$tag" \
		"$dir/exit.c" "$dir"/libx*.so -Wl,-rpath,"$dir" ||
		{ not_ok "compiles"; exit 1; }
	begin "$dir/$1_$tag"
}
program exits -Wl,--ld-generated-unwind-info
program exitn -Wl,--no-ld-generated-unwind-info
ends=';_dl_fini;[^;]*(__do_global_dtors_aux|deregister_tm_clones|_fini|libx)'
plenty() {
	local s
	for s in exits exitn; do
		sampled 1000 ${s}_$tag &&
			[ "$(count "$out" ${s}_$tag "$ends")" -ge 20 ] || return
	done
}
sample_until plenty -h 997 -s 1000
for s in exits exitn; do
	n=$(count "$out" ${s}_$tag "$ends")
	expect "$s: what the linker adds" "$n samples" "$n" -ge 20
	# A process on its way out has given up its stack.
	whole "$s" "$out" ${s}_$tag \
		'};(_start;|\[no user (stack|memory)\])' 1000 990
	n=$(count "$out" ${s}_$tag '};\[(no unwind row|unsupported)')
	all=$(count "$out" ${s}_$tag .)
	if enough $((all - n)) "$all" 999; then ok "$s: all code has rows"
	else not_ok "$s: all code has rows" "$n of $all have none"; fi
done
