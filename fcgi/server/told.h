/*
 * Which places of functions a process has told the store: each once a day,
 * so that whoever asks for a range finds them in it or not long before
 * (places.h).  Bounded: when it is full all is forgotten, and told again.
 */
#ifndef FCGI_TOLD_H
#define FCGI_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/fingerprint.h"

#define TOLD_MAX 65536u
#define TOLD_DAY_NS (INT64_C(86400) * 1000000000)

struct told_entry {
	int64_t time_ns, line;
};

struct told { /* all zero when empty */
	struct fingerprint_key key;
	bool keyed;
	struct fingerprint_map map; /* to entries */
	struct told_entry *entries;
	size_t n, cap;
	struct buf scratch;
};

struct told_place {
	const char *name, *module, *build_id, *service, *file;
	int64_t line;
	bool seen; /* the first line that was seen, not the definition's */
};

/*
 * Is a place to be told for this time?  It counts as told then.  Once more on
 * the same day (UTC) for an earlier time, since profiles may come late, and
 * for an earlier line where it is one that was seen.  False when out of
 * memory too.
 */
bool told_take(struct told *t, const struct told_place *place,
    int64_t time_ns);

/* What was taken did not arrive, or is not known to: all begins anew. */
void told_forget(struct told *t);
void told_fini(struct told *t);

#endif
