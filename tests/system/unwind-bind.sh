#!/bin/bash
# A program whose functions of the C library are bound anew at each call: all it
# does is what the loader does at first calls of others, where that finds its
# frame by a register that it has saved; and a signal in the middle of it.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
{
	cat <<-'END'
	#include <signal.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/time.h>
	static const char *volatile text = "memlens";
	static volatile unsigned long sum;
	static __attribute__((noinline)) void burn(void)
	{
		for (unsigned long i = 0; i < 300000; i++)
			sum = sum * 25214903917u + 11;
	}
	static void on_signal(int sig)
	{
		burn();
		sum += (unsigned)sig;
	}
	/* The second of them is one of several, which a function chooses. */
	static __attribute__((noinline)) void f6(void)
	{
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)(a64l(text) +
			    (long)strcspn(text, "x"));
	}
	END
	for ((i = 5; i >= 0; i--)); do
		cat <<-END
		static __attribute__((noinline)) void f$i(void)
		{
			f$((i + 1))();
			sum++;
		}
		END
	done
	cat <<-'END'
	int main(void)
	{
		struct itimerval each = {{0, 20000}, {0, 20000}};
		signal(SIGPROF, on_signal);
		setitimer(ITIMER_PROF, &each, NULL);
		for (;;)
			f0();
	}
	END
} >"$dir/bind.c"
name=bind_$tag
gcc -O2 -fomit-frame-pointer -fno-builtin -fplt -Wl,-z,lazy \
	-o "$dir/$name" "$dir/bind.c" || { not_ok "compiles"; exit 1; }
begin env LD_BIND_NOT=1 "$dir/$name"
binding=';main;f0;f1;f2;f3;f4;f5;f6;(_dl_runtime_resolve|ld-linux)'
signal="$binding.*;__restore_rt;on_signal;burn"
plenty() {
	sampled 1000 "$name" && [ "$(count "$out" "$name" "$signal")" -ge 20 ]
}
sample_until plenty -h 997 -s 1000
whole "binding" "$out" "$name" "};_start;[^ ]*;main;f0;f1;f2;f3;f4;f5;f6" \
	1000 990
n=$(count "$out" "$name" "$binding") all=$(count "$out" "$name" .)
expect "the loader under its caller" "$n of $all" $((n * 2)) -ge "$all"
n=$(count "$out" "$name" "$signal")
expect "a signal in the middle of it" "$n samples" "$n" -ge 20
