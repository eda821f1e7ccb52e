/*
 * A call between two others, in a file of its own: it can be compiled without
 * rows of .eh_frame.
 */
#include "tests/kinds/work.h"

static volatile int count;

NOINLINE void
between(void (*next)(void))
{
	volatile int here[40];

	here[count % 40] = count;
	next();
	count += here[count % 40] & 1;
}
