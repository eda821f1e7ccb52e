/*
 * Asks a Java virtual machine for its map of compiled code, by the protocol of
 * HotSpot's attach listener, which jcmd speaks too:
 *
 *	/tmp/.attach_pidN   an empty file of the machine's own user
 *	SIGQUIT             it looks for that file, and listens on
 *	/tmp/.java_pidN     a unix socket: "1\0jcmd\0Compiler.perfmap\0\0\0"
 *
 * /tmp is that of the machine's root, N its number in its own namespace.  It
 * is done in a process that has the machine's user and no other right, so
 * that whatever lies there is that user's own affair.  SIGQUIT ends programs
 * that do not expect it: only who has mapped libjvm.so and catches the signal
 * gets it, once in its life.
 */
#ifndef COLLECTOR_JAVA_ATTACH_H
#define COLLECTOR_JAVA_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JAVA_WHY_MAX 200

enum java_state {
	JAVA_OK,        /* the map is written */
	JAVA_NO_FRAMES, /* it is, but callers will be missing */
	JAVA_FAILED     /* there is none */
};

struct java_answer {
	enum java_state state;
	bool signalled;         /* SIGQUIT was sent */
	char why[JAVA_WHY_MAX]; /* "" of JAVA_OK; clean */
};

/* Whom a process runs as, from its status file. */
struct java_ids {
	uid_t uid;
	gid_t gid;
	int32_t inner;    /* its number in its innermost namespace */
	bool one;         /* real, effective and saved ids are the same */
	bool catches;     /* SIGQUIT has a handler */
};

/* False when it is gone. */
bool java_ids_read(int process, struct java_ids *out);

/*
 * Asks the process whose folder of /proc is open as `process`; `pidfd` is the
 * same one.  Takes at most `deadline_ns` and a second.  `may_signal`: SIGQUIT
 * may be sent.  Root processes are not asked.
 */
void java_ask(int process, int pidfd, const struct java_ids *ids,
    bool may_signal, int64_t deadline_ns, struct java_answer *out);

#endif
