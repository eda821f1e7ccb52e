/*
 * One step over the range, and sorted texts.
 */
#include "fcgi/pyroscope/labelsets.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/heap.h"

/* Of whole slots that there are, and of all that is kept as one. */
static void
labelsets_range(struct store *s, struct totals_query *q)
{
	struct store_extent extent;
	int64_t slot;

	store_extent(s, &extent);
	slot = extent.slot_ns;
	if (q->until_ns <= 0) {
		q->from_ns = extent.from_ns;
		q->until_ns = extent.until_ns;
	}
	if (q->from_ns < extent.from_ns)
		q->from_ns = extent.from_ns;
	if (q->until_ns > extent.until_ns)
		q->until_ns = extent.until_ns;
	q->from_ns = q->from_ns / slot * slot;
	q->until_ns = (q->until_ns + slot - 1) / slot * slot;
	if (q->until_ns < q->from_ns + slot)
		q->until_ns = q->from_ns + slot;
	store_kept_range(s, &q->from_ns, &q->until_ns);
	q->step_ns = q->until_ns - q->from_ns;
}

const struct err *
labelsets_each(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, labelsets_fn *fn, void *arg)
{
	struct totals_query q = {.selector = selector, .from_ns = from_ns,
	    .until_ns = until_ns, .sets = true};
	struct store *labels;
	struct totals *t = NULL;
	const struct err *e = store_open_labels(&labels, s);

	if (e != NULL)
		return e;
	labelsets_range(labels, &q);
	e = store_query_totals(labels, &q, &t);
	for (size_t i = 0; e == NULL && i < t->n_groups; i++)
		e = fn(arg, &t->groups[i]);
	store_missing_take(s, labels);
	totals_free(t);
	store_close(labels);
	heap_trim();
	return e;
}

bool
label_texts_add(struct label_texts *t, const char *text)
{
	buf_put(&t->bytes, text, strlen(text) + 1);
	t->n++;
	return !t->bytes.failed;
}

static int
texts_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const struct err *
label_texts_finish(struct label_texts *t)
{
	const char *p = (const char *)t->bytes.data;
	size_t kept = 0;

	t->list = malloc((t->n + 1) * sizeof(*t->list));
	if (t->list == NULL || t->bytes.failed)
		return err_nomem();
	for (size_t i = 0; i < t->n; i++) {
		t->list[i] = p;
		p += strlen(p) + 1;
	}
	qsort(t->list, t->n, sizeof(*t->list), texts_compare);
	for (size_t i = 0; i < t->n; i++)
		if (kept == 0 || strcmp(t->list[kept - 1], t->list[i]) != 0)
			t->list[kept++] = t->list[i];
	t->n = kept;
	return NULL;
}

void
label_texts_fini(struct label_texts *t)
{
	free(t->list);
	buf_fini(&t->bytes);
	t->list = NULL;
	t->n = 0;
}
