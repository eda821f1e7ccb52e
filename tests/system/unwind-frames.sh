#!/bin/bash
# A program whose frames are large, 20 KB from the leaf to main(), and whose
# leaf is in new code every half a second: each 64 KiB of it have rows that
# have to come first.  The copies of its stacks reach to main() as soon as one
# did not.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
parts=100

# Each part: a leaf, and rows for a region.
{
	echo '.text'
	for ((i = 0; i < parts; i++)); do
		cat <<-END
		.p2align 16
		.globl leaf$i
		.type leaf$i, @function
		leaf$i:
		.cfi_startproc
		push %rbx
		.cfi_adjust_cfa_offset 8
		1: dec %rdi
		jnz 1b
		pop %rbx
		.cfi_adjust_cfa_offset -8
		ret
		.cfi_endproc
		.size leaf$i, . - leaf$i
		.rept 100
		.cfi_startproc
		push %rbx
		.cfi_adjust_cfa_offset 8
		pop %rbx
		.cfi_adjust_cfa_offset -8
		ret
		.cfi_endproc
		.endr
		END
	done
	echo '.section .rodata'
	echo '.p2align 3; .globl leaves; leaves:'
	for ((i = 0; i < parts; i++)); do echo ".quad leaf$i"; done
	echo '.section .note.GNU-stack, ""'
} >"$dir/leaves.s"
{
	cat <<-END
	#include <string.h>
	#include <time.h>
	extern void (*const leaves[])(unsigned long);
	static volatile char sum;
	static unsigned long done;
	static double cpu(void)
	{
		struct timespec t;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		return t.tv_sec + t.tv_nsec / 1e9;
	}
	/* Half a second in each part: its first samples meet it without rows. */
	static void __attribute__((noinline)) f6(void)
	{
		double end = cpu() + 0.5;
		while (cpu() < end)
			leaves[done % $parts](1000000);
		done++;
	}
	END
	for ((i = 5; i >= 0; i--)); do
		cat <<-END
		static void __attribute__((noinline)) f$i(void)
		{
			char big[3400];
			memset(big, sum, sizeof(big));
			f$((i + 1))();
			sum += big[sum & 15];
		}
		END
	done
	echo 'int main(void) { for (;;) f0(); }'
} >"$dir/main.c"
name=frames_$tag
gcc -O1 -no-pie -fomit-frame-pointer -o "$dir/$name" "$dir/main.c" \
	"$dir/leaves.s" || { not_ok "compiles"; exit 1; }
begin "$dir/$name"
behind() { # PATTERN : samples from 3 s after the first one on
	grep -F " $name {" "$out" | P=$1 awk '/^stack / {
		if (first == "") first = $2
		if ($2 >= first + 3 && $0 ~ ENVIRON["P"]) n += $NF
	} END { print n + 0 }'
}
plenty() { [ "$(behind .)" -ge 400 ]; }
begin_driver -h 99 -s 1000
seen plenty
end_driver
all=$(behind .) whole=$(behind ';main;f0;f1;f2;f3;f4;f5;f6(;|$| )')
echo "# $whole of $all whole"
grep -F " $name {" "$out" | sed -n 's/.*}[^;]*;\(\[[^];]*\]\).* \([0-9]*\)$/\1\t\2/p' |
	awk -F'\t' '{ n[$1] += $2 } END { for (m in n) print "# " n[m], m }'
if enough "$whole" "$all" 990; then ok "99 % of its stacks are whole"
else not_ok "99 % of its stacks are whole" "$whole of $all"; fi
