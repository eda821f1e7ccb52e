/*
 * Named runs: a range with a name, and what was running.  A run is a fact of
 * the store (FACT_RUN), a JSON object of bounded size; the newest of a name
 * counts, and one with "removed" takes the name away.
 *
 *	{"name": "baseline", "from": 1795269120, "until": 1795269360,
 *	 "label": "...", "build_id": "...", "revision": "...",
 *	 "kernel": "...", "governor": "...", "sysctls": {"vm.swappiness": "60"},
 *	 "client": "...", "rate_target": 1000, "rate_reached": 998.5,
 *	 "notes": "...", "recorded": 1795269400.5}
 *
 * Runs live as long as the slots of the time at which they were recorded.
 */
#ifndef FCGI_RUNS_H
#define FCGI_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct json_object;
struct request;
struct store;

#define RUNS_MAX 1000          /* of a list, the newest */
#define RUNS_TEXT_MAX 1000u    /* bytes of a text */
#define RUNS_NAME_MAX 100u
#define RUNS_SYSCTLS_MAX 64
#define RUNS_JSON_MAX 32768u   /* bytes of a stored run */

struct run {
	char name[RUNS_NAME_MAX + 1];
	int64_t recorded_ns;
	struct json_object *object; /* owned */
};

/* What a client or a fact says: one JSON object in UTF-8, or NULL. */
struct json_object *runs_parse(const char *text, size_t n);

/* The runs of a store, by their from, newest first.  runs_free() them.
 * What is no such object is left out. */
const struct err *runs_list(struct store *s, struct run **out, size_t *n);
void runs_free(struct run *runs, size_t n);

/*
 * Appends the JSON of a run from what a client sends: its members checked,
 * from and until in any form of time (by default the last hour), and what
 * this host knows of itself where the client says nothing (kernel, governor,
 * sysctls).  name[] receives the name.  Errors: ERR_REQUEST 400 with the
 * member's name, 415 for what is no JSON object.
 */
const struct err *runs_make(const struct request *rq, struct buf *out,
    char name[RUNS_NAME_MAX + 1]);

#endif
