/*
 * A line on a terminal for work that takes longer than a second: how far it
 * is, written over again and again.  Says nothing where standard error is no
 * terminal, or the work is short.
 *
 *	progress_begin(&p, STDERR_FILENO, "verify", clock_mono_ns());
 *	...	progress_show(&p, clock_mono_ns(), done / all);
 *	progress_end(&p);
 */
#ifndef STORE_BASE_PROGRESS_H
#define STORE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* borrowed */
	int fd;           /* -1: no terminal */
	int64_t began_ns, shown_ns;
	bool shown;       /* the line stands there */
};

/* `fd` is the caller's; `now_ns` any clock that only goes forward. */
void progress_begin(struct progress *p, int fd, const char *what,
    int64_t now_ns);
/* share: 0 to 1.  At most ten lines a second. */
void progress_show(struct progress *p, int64_t now_ns, double share);
/* Takes the line away, before other output or at the end. */
void progress_end(struct progress *p);

#endif
