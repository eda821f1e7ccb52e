/*
 * The functions in which threads wait for locks, and give them back.
 */
#ifndef COLLECTOR_LOCKS_NAMES_H
#define COLLECTOR_LOCKS_NAMES_H

#include <stdbool.h>

enum lock_kind {
	LOCK_NONE,
	LOCK_MUTEX,
	LOCK_READER,
	LOCK_WRITER,
	LOCK_SEMAPHORE,
	LOCK_DATABASE,  /* of rows and tables: its own way to wait is below */
	LOCK_CONDITION, /* none, but of the mutex that it takes again */
	LOCK_TIMED,     /* that gives up after a time, as who waits for work */
	LOCK_WORK,      /* none: threads of a runtime that have nothing to
	                 * do, and nobody who had them wait */
	LOCK_RELEASE    /* gives one back */
};

/* By a function's name as symbols have it: with a version or without. */
enum lock_kind locks_kind_of(const char *function);
bool locks_is_database(const char *function); /* for each event: faster */

/* Is it of a reader/writer lock of POSIX?  glibc's futex is not its first
 * word. */
bool locks_is_glibc_rwlock(const char *function);
bool locks_is_glibc_condition(const char *function); /* likewise */

#endif
