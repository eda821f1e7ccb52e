/*
 * The table of reasons.
 */
#include "store/model/broken.h"

#include <stddef.h>
#include <string.h>

const struct broken_reason broken_reasons[BROKEN_REASONS] = {
    [BROKEN_NOT] = {"", "", "", 1},
    [BROKEN_NO_TABLES] = {"no tables yet", "[no unwind table yet]",
        "unwind tables of the code are not made yet: where that lasts, "
        "raise unwind-memory in [cpu]", 0},
    [BROKEN_NO_MAPPING] = {"no mapping", "[no mapping]",
        "they led to addresses of no known code", 0},
    [BROKEN_NO_ROW] = {"no row", "[no unwind row]",
        "the code has neither .eh_frame nor frame pointers: build it with "
        "-fasynchronous-unwind-tables", 0},
    [BROKEN_UNSUPPORTED] = {"unsupported", "[unsupported unwind rule]",
        "the code needs rules of .eh_frame that are not done", 0},
    [BROKEN_UNREADABLE] = {"unreadable", "[stack unreadable]",
        "the memory of the stack was not there", 0},
    [BROKEN_BAD_STACK] = {"bad stack", "[bad stack]",
        "they led down the stack", 0},
    [BROKEN_TRAMPOLINE] = {"trampoline", "[uretprobe]",
        "they were in the code of return probes", 0},
    [BROKEN_32BIT] = {"32 bit", "[32-bit code]",
        "the program is of 32 bits", 0},
    [BROKEN_NO_MEMORY] = {"no memory", "[no user memory]",
        "the threads were ending or executing another program", 1},
    [BROKEN_NO_STACK] = {"no stack", "[no user stack]",
        "they have no user stack", 0},
    [BROKEN_ONE_FRAME] = {"one frame", "[no frame pointer]",
        "the code keeps no frame pointers: build it with "
        "-fno-omit-frame-pointer, or set unwinder = eh_frame in [cpu]", 0},
    [BROKEN_TRUNCATED] = {"truncated", "[truncated]",
        "they are deeper than 512 frames or, of waits that go on, than "
        "the 8 to 28 KB that are copied of a stack", 0},
    [BROKEN_TOO_LARGE] = {"table too large", "[unwind table too large]",
        "the code has more unwind rows than a table may have", 0},
    [BROKEN_NO_PROCESS] = {"no process", "[no process]",
        "the processes had ended, or executed another program, "
        "before they were looked at", 0},
    [BROKEN_NEW_CODE] = {"new code", "[new code]",
        "the code had been seen for less than 10 s: its unwind tables were "
        "on their way", 1},
    [BROKEN_KERNEL] = {"no kernel callers", "[no kernel callers]",
        "the kernel did not find out of its code for calls by a register", 1},
    [BROKEN_ELSEWHERE] = {"another stack", "[another stack]",
        "Go's runtime, on a stack of its own, was making room on the one "
        "of a goroutine", 1},
};

enum broken
broken_of_mark(const char *mark)
{
	int i;

	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++)
		if (strcmp(broken_reasons[i].mark, mark) == 0)
			return (enum broken)i;
	return BROKEN_NOT;
}

const struct broken_reason *
broken_find(const char *reason)
{
	int i;

	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++)
		if (strcmp(broken_reasons[i].reason, reason) == 0)
			return &broken_reasons[i];
	return NULL;
}
