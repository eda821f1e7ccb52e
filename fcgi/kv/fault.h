/*
 * The operator's own command that makes something faulty: [fault] of the
 * configuration, a program and its arguments, never a shell's line and nothing
 * of a request.
 *
 *	worker ──"run it"──► helper ──fork──► runner ──fork, exec──► the command
 *	behind its walls     the same user, without walls; reads one byte
 *
 * The helper is forked before its worker gives up its rights, since a command
 * that is a script starts programs.  It has no right that the worker's user
 * has not, and neither has the command: set-user-ID programs get none.  The
 * runner inherits whatever the command leaves behind (PR_SET_CHILD_SUBREAPER),
 * so that what is late ends whole, in whichever session it is; what goes on
 * behind a command that has ended in time is init's.
 */
#ifndef FCGI_KV_FAULT_H
#define FCGI_KV_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct settings;

#define FAULT_SAID_MAX 400u

struct fault_done {
	int64_t took_ns;
	int status; /* of waitpid() */
	bool late;  /* it was killed, since its time was over */
	int lacked; /* errno: it was not started */
	size_t n_said; /* bytes of: */
	char said[FAULT_SAID_MAX]; /* the beginning of what it printed */
};

/* The helper's socket; -1: no command is configured, or no helper can be. */
int fault_stand_by(const struct settings *s);

/* Runs it and waits for its end, whoever else has gone.  Errors: 503 where the
 * helper is gone: the next worker has another one. */
const struct err *fault_run(int socket, const struct settings *s,
    struct fault_done *done);

#endif
