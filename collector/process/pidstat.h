/*
 * One line of /proc/PID/stat.  The name of a process may hold any byte,
 * spaces and parentheses too: it ends at the last ')' of the line.
 */
#ifndef COLLECTOR_PIDSTAT_H
#define COLLECTOR_PIDSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pidstat {
	char comm[64]; /* kernel workers have long ones */
	char state;    /* R, S, D, Z, ... */
	int32_t parent;
	bool kernel_thread;
	uint64_t minor_faults, major_faults;
	uint64_t user_ticks, system_ticks; /* of 1/100 s */
	uint64_t threads;
	uint64_t start_ticks; /* after boot */
	uint64_t virtual_bytes, resident_pages;
	/* Of the program: others when another is executed; 0: no memory, or it
	 * may not be read. */
	uint64_t code_start, code_end, stack_start;
	int64_t read_ns; /* wall: when it was read; 0: not known */
};

/* False when the text is not such a line.  The name is cleaned as text.h
 * says. */
bool pidstat_parse(const char *text, size_t n, struct pidstat *out);

#endif
