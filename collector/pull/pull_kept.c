/*
 * A handful of bodies: they are looked for one by one.
 */
#include "collector/pull/pull_kept.h"

#include <stdlib.h>
#include <string.h>

#include "collector/pull/pull.h"
#include "fcgi/format/gzip.h"
#include "store/base/array.h"
#include "store/base/err.h"

static void
kept_drop(struct pull_kept *k, uint32_t i)
{
	k->bytes -= k->bodies[i].packed.len;
	buf_fini(&k->bodies[i].packed);
	k->n--;
	memmove(&k->bodies[i], &k->bodies[i + 1],
	    (k->n - i) * sizeof(*k->bodies));
}

void
pull_kept_fini(struct pull_kept *k)
{
	while (k->n > 0)
		kept_drop(k, k->n - 1);
	free(k->bodies);
	*k = (struct pull_kept){0};
}

static uint32_t
kept_index(const struct pull_kept *k, uint32_t source, uint64_t run)
{
	uint32_t i = 0;

	while (i < k->n && (k->bodies[i].source != source ||
	    k->bodies[i].run != run))
		i++;
	return i;
}

const void *
pull_kept_find(const struct pull_kept *k, uint32_t source, uint64_t run,
    size_t *n, int64_t *at_ns)
{
	uint32_t i = kept_index(k, source, run);

	*n = i < k->n ? k->bodies[i].packed.len : 0;
	*at_ns = i < k->n ? k->bodies[i].at_ns : 0;
	return i < k->n ? k->bodies[i].packed.data : NULL;
}

const struct err *
pull_kept_put(struct pull_kept *k, uint32_t source, uint64_t run,
    int64_t at_ns, const void *data, size_t n)
{
	struct pull_kept_body b = {run, source, at_ns, {0}};
	const struct err *e = NULL;
	uint32_t i = kept_index(k, source, run);

	if (i < k->n)
		kept_drop(k, i);
	if (!gzip_looks(data, n))
		e = gzip_deflate(&b.packed, data, n);
	else
		buf_put(&b.packed, data, n);
	if (e == NULL && (b.packed.failed ||
	    !array_room(&k->bodies, k->n + 1, &k->cap)))
		e = err_nomem();
	if (e != NULL || b.packed.len > PULL_KEPT_MAX) {
		buf_fini(&b.packed);
		return e;
	}
	k->bodies[k->n++] = b;
	k->bytes += b.packed.len;
	while (k->n > PULL_SOURCES_MAX || k->bytes > PULL_KEPT_MAX)
		kept_drop(k, 0);
	return NULL;
}
