#!/bin/bash
# Programs of more rows of .eh_frame than the walker has memory for: of 0.6, 2
# and 10 million, generated, without frame pointers.  Their stacks go through
# functions from all over the file.  Each is whole after three seconds, and
# what is not whole before that is marked.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
depth=40

# An object of 14,000 functions of 7 rows, in their middle one that calls the
# next one of a list: linked so many times.  Its code is as a compiler's.
filler() { # FUNCTIONS
	cat <<-END
	.rept $1
	.p2align 6
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	push %r12
	.cfi_adjust_cfa_offset 8
	sub \$24,%rsp
	.cfi_adjust_cfa_offset 24
	add \$24,%rsp
	.cfi_adjust_cfa_offset -24
	pop %r12
	.cfi_adjust_cfa_offset -8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
	END
}
{
	echo '.text'
	filler 7000
	cat <<-'END'
	.type link, @function
	link:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	sub $48, %rsp
	.cfi_adjust_cfa_offset 48
	add $8, %rdi
	call *(%rdi)
	add $48, %rsp
	.cfi_adjust_cfa_offset -48
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size link, . - link
	.section links, "aw"
	.quad link
	.text
	END
	filler 7000
	echo '.section .note.GNU-stack, ""'
} >"$dir/part.s"
cat >"$dir/main.c" <<END
#include <stdint.h>
extern void (*__start_links[])(void *), (*__stop_links[])(void *);
static void (*list[$depth + 2])(void *);
static volatile uint64_t sum;
static __attribute__((noinline)) void last(void *p)
{
	for (uint64_t i = 0; i < 200000; i++)
		sum += i ^ (uintptr_t)p;
}
int main(void)
{
	long n = __stop_links - __start_links, i;
	for (i = 0; i < $depth; i++)
		list[i] = __start_links[i * 7 % n];
	list[$depth] = last;
	for (;;)
		list[0](list);
}
END
as -o "$dir/part.o" "$dir/part.s" &&
	gcc -O2 -fomit-frame-pointer -c -o "$dir/main.o" "$dir/main.c" ||
	{ not_ok "assembles"; exit 1; }

# behind PATTERN : samples of slots that begin 3 s after the program's first
behind() {
	grep -F " $name {" "$out" | P=$1 awk '/^stack / {
		if (first == "") first = $2
		if ($2 >= first + 6 && $0 ~ ENVIRON["P"]) n += $NF
	} END { print n + 0 }'
}
plenty() { [ "$(behind .)" -ge 1500 ]; }

links=$(printf ';link%.0s' $(seq $depth))
for parts in 6 20 100; do
	name=l${parts}_$tag
	gcc -no-pie -o "$dir/$name" "$dir/main.o" \
		$(printf "$dir/part.o %.0s" $(seq $parts)) ||
		{ not_ok "links"; exit 1; }
	begin "$dir/$name"
	rows="$parts times 100,000 rows"
	begin_driver -h 997 -s 500
	seen plenty
	end_driver
	kill -9 "$last"
	wait "$last" 2>/dev/null
	all=$(behind .) good=$(behind "};_start;[^ ]*;main;link")
	deep=$(behind ';last') right=$(behind "};_start;[^ ]*;main$links;last")
	echo "# $rows: $good of $all"
	expect "$rows: sampled" "$all samples" "$all" -ge 1500
	if enough "$good" "$all" 999; then
		ok "$rows: whole after 3 s"
	else
		not_ok "$rows: whole after 3 s" "$good of $all"
		grep "^unwind" "$out" | tail -n 1 | sed 's/^/# /'
	fi
	expect "$rows: each function that called is there" \
		"$right of $deep" "$right" -eq "$deep" -a "$deep" -ge 1000
	bare=$(grep -F " $name {" "$out" |
		awk '/^stack / && !/};(_start;|\[)/ { n += $NF }
		END { print n + 0 }')
	expect "$rows: what is not whole is marked" "$bare samples" \
		"$bare" -eq 0
	rm "$dir/$name"
done
