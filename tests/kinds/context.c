/*
 * Coroutines of makecontext(3): two that take turns, on stacks of their own.
 */
#include <stdint.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

void burn(unsigned n);
void one(void);
void two(void);

static ucontext_t main_context, contexts[2];
static char stacks[2][65536];
static volatile uint64_t sink;

NOINLINE void
burn(unsigned n)
{
	uint64_t x = sink;

	while (n-- > 0)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

NOINLINE void
one(void)
{
	for (;;) {
		burn(300000);
		swapcontext(&contexts[0], &contexts[1]);
	}
}

NOINLINE void
two(void)
{
	for (;;) {
		burn(100000);
		swapcontext(&contexts[1], &contexts[0]);
	}
}

int
main(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
	}
	makecontext(&contexts[0], one, 0);
	makecontext(&contexts[1], two, 0);
	swapcontext(&main_context, &contexts[0]);
	return 0;
}
