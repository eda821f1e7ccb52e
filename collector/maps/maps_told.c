/*
 * From changes to the text of a maps file, which one parser reads.
 */
#include "collector/maps/maps_told.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "collector/maps/maps_changes.h"
#include "store/base/buf.h"

#define TOLD_MAX 64 /* mappings of a short life */

struct told {
	const struct maps_change *all[TOLD_MAX];
	size_t n;
};

static int
told_compare(const void *a, const void *b)
{
	const struct maps_change *x = *(const struct maps_change *const *)a;
	const struct maps_change *y = *(const struct maps_change *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* They come newest first: a younger one has the place. */
static bool
told_take(void *arg, const struct maps_change *m)
{
	struct told *t = arg;
	size_t i;

	for (i = 0; i < t->n; i++)
		if (m->start < t->all[i]->end && t->all[i]->start < m->end)
			return true;
	t->all[t->n++] = m;
	return t->n < TOLD_MAX;
}

void
maps_tell(struct buf *text, const struct maps_change *m, const char *path)
{
	buf_printf(text, "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %"
	    PRIu64 " %s\n", m->start, m->end, m->offset, major(m->dev),
	    minor(m->dev), m->ino, path);
}

void
maps_told(const struct maps_changes *c, int32_t pid, int64_t since_ns,
    struct buf *text)
{
	struct told t = {.n = 0};
	size_t i;

	maps_changes_each(c, pid, since_ns, told_take, &t);
	qsort(t.all, t.n, sizeof(t.all[0]), told_compare);
	for (i = 0; i < t.n; i++)
		maps_tell(text, t.all[i], maps_changes_path(c, t.all[i]));
	buf_put_u8(text, 0);
}
