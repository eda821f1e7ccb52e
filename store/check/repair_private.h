/*
 * Inside repair: what repair.c (which files there are, which of them took the
 * place of others, the new manifest) and repair_look.c (is a file whole, and
 * what does it hold?) share.
 */
#ifndef STORE_REPAIR_PRIVATE_H
#define STORE_REPAIR_PRIVATE_H

#include <stddef.h>

#include "store/check/repair.h"
#include "store/file/manifest.h"

struct found {
	struct manifest_file f;
	uint64_t number; /* of its name: later files have larger ones */
	bool dropped;
};

struct repair {
	const char *path;
	int dir, lock;
	struct manifest manifest; /* the new one */
	struct found *found;
	size_t n, cap;
	uint64_t highest; /* number of a name */
	uint64_t ids;     /* number of the newest list of ids, or 0 */
	struct repair_report *report;
	repair_fn *fn;
	void *arg;
};

__attribute__((format(printf, 2, 3))) void repair_say(struct repair *r,
    const char *fmt, ...);
/* Renames a file to NAME.suffix; what "bad" ones held becomes a gap. */
const struct err *repair_aside(struct repair *r, struct found *f,
    const char *suffix, const char *why);
/* Looks at all that were found; what is not whole is set aside. */
const struct err *repair_check(struct repair *r);
/* All is well but for the list of ids: a manifest without it. */
const struct err *repair_lost_ids(struct repair *r, struct manifest *m);

#endif
