/*
 * Marks out of the store: at most twice as many as are asked for at a time.
 */
#include "fcgi/query/marks.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/array.h"
#include "store/base/err.h"
#include "store/store.h"

struct marks {
	const struct mark_query *q;
	struct mark *list;
	size_t n, cap, left_out;
	bool failed;
};

static int
marks_compare(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	int order;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	order = strcmp(x->what, y->what);
	return order != 0 ? order : strcmp(x->text, y->text);
}

/* Sorts, and lets go of the oldest that are too many. */
static void
marks_trim(struct marks *l)
{
	size_t over = l->n > l->q->max ? l->n - l->q->max : 0;

	if (l->n > 0)
		qsort(l->list, l->n, sizeof(*l->list), marks_compare);
	if (over > 0)
		memmove(l->list, l->list + over,
		    (l->n - over) * sizeof(*l->list));
	l->n -= over;
	l->left_out += over;
}

/* Is it one of a list that is separated by commas? */
static bool
marks_is_asked(const char *list, const char *what)
{
	size_t n = strlen(what);

	while (list != NULL && *list != '\0') {
		size_t k = strcspn(list, ",");

		if (k == n && strncmp(list, what, n) == 0)
			return true;
		list += k + (list[k] == ',');
	}
	return list == NULL;
}

static bool
marks_take(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	struct marks *l = arg;
	struct fact_part text = {data, n}, service = {NULL, 0};
	const char *tab = n > 0 ? memrchr(data, '\t', n) : NULL;
	struct mark *m;

	if (tab != NULL) {
		service = (struct fact_part){tab + 1,
		    n - (size_t)(tab + 1 - text.p)};
		text.n = (size_t)(tab - text.p);
	}
	if (strlen(subject) > MARKS_WHAT_MAX || text.n > MARKS_TEXT_MAX ||
	    service.n > MARKS_SERVICE_MAX || !writer_utf8_valid(data, n) ||
	    (n > 0 && memchr(data, '\0', n) != NULL) ||
	    !marks_is_asked(l->q->what, subject))
		return true;
	if (service.n > 0 && l->q->service != NULL &&
	    !fact_part_is(service, fact_part_of(l->q->service)))
		return true;
	if (l->n >= 2 * (l->q->max + 1))
		marks_trim(l);
	if (!array_room(&l->list, l->n + 1, &l->cap)) {
		l->failed = true;
		return false;
	}
	m = &l->list[l->n++];
	m->time_ns = time_ns;
	fact_part_copy(fact_part_of(subject), m->what, sizeof(m->what));
	fact_part_copy(text, m->text, sizeof(m->text));
	fact_part_copy(service, m->service, sizeof(m->service));
	return true;
}

const struct err *
marks_list(struct store *s, const struct mark_query *q, struct mark **out,
    size_t *n, size_t *left_out)
{
	struct marks l = {.q = q};
	const struct err *e;

	*out = NULL;
	*n = *left_out = 0;
	e = store_each_fact(s, FACT_MARK, q->from_ns, q->until_ns, marks_take,
	    &l);
	if (e == NULL && l.failed)
		e = err_nomem();
	if (e != NULL) {
		free(l.list);
		return e;
	}
	marks_trim(&l);
	*out = l.list;
	*n = l.n;
	*left_out = l.left_out;
	return NULL;
}
