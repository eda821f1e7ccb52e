/*
 * The thread's clock, read at each change.
 */
#include "collector/base/spent.h"

#include "store/base/clock.h"

static struct {
	enum spent_on part;
	int64_t since_ns;
	int64_t ns[SPENT_PARTS];
	int64_t elsewhere_ns; /* of that, other threads' */
} spent;

enum spent_on
spent_begin(enum spent_on part)
{
	enum spent_on before = spent.part;
	int64_t now_ns;

	if (part == before)
		return before;
	now_ns = clock_thread_cpu_ns();
	spent.ns[before] += now_ns - spent.since_ns;
	spent.since_ns = now_ns;
	spent.part = part;
	return before;
}

void
spent_elsewhere(enum spent_on part, int64_t ns)
{
	spent.ns[part] += ns;
	spent.elsewhere_ns += ns;
}

int64_t
spent_ns(enum spent_on part)
{
	int64_t now_ns = clock_thread_cpu_ns(), ns = spent.ns[part];

	if (part == spent.part)
		ns += now_ns - spent.since_ns;
	if (part == SPENT_STORE)
		ns += clock_cpu_ns() - now_ns - spent.elsewhere_ns;
	return ns;
}
