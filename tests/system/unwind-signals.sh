#!/bin/bash
# A function that a signal interrupts at its first instruction, right behind
# another function's last one: the stack of the handler has it, by its name,
# and not the one before it.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
cat >"$dir/first.c" <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
static volatile uint64_t sum;
static __attribute__((noinline)) void burn(void)
{
	for (uint64_t i = 0; i < 10000000; i++)
		sum += i;
}
/* ud2 has two bytes: the function goes on behind it. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	burn();
	u->uc_mcontext.gregs[REG_RIP] += 2 + (number < 0 || info == 0);
}
__asm__(".text\n"
    ".type before, @function\nbefore:\n.cfi_startproc\n"
    "nop\nret\n.cfi_endproc\n.size before, . - before\n"
    ".type first, @function\nfirst:\n.cfi_startproc\n"
    "ud2\nret\n.cfi_endproc\n.size first, . - first\n");
void first(void);
static __attribute__((noinline)) void calls(void)
{
	first();
	sum++;
}
int main(void)
{
	struct sigaction a = {.sa_sigaction = on_signal,
	    .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &a, 0);
	for (;;)
		calls();
}
END
name=first_$tag
gcc -O1 -o "$dir/$name" "$dir/first.c" ||
	{ not_ok "compiles"; exit 1; }
begin "$dir/$name"
plenty() { sampled 300 "$name"; }
begin_driver -h 499 -s 500
seen plenty
end_driver
all=$(count "$out" "$name" ';on_signal[ ;]')
good=$(count "$out" "$name" \
	';main;calls;first;__restore_rt;on_signal[ ;]')
echo "# $good of $all"
expect "the handler is sampled" "$all samples" "$all" -ge 250
if enough "$good" "$all" 990; then
	ok "what it interrupted has its name"
else
	not_ok "what it interrupted has its name" "$good of $all" \
		"$(settled "$out" "$name" | tail -n 1 | cut -c 1-300)"
fi
n=$(samples "$out" ";before;")
expect "none is named by the function before" "$n samples" "$n" -eq 0
