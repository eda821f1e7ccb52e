/*
 * What a series says of a step is a quotient; sums of them are added as
 * fractions over a common denominator, since doubles would not be exact.
 */
#include "fcgi/query/series_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/mean.h"
#include "store/store.h"

#define SUM_LABELS_MAX 64 /* of one series: as many as a batch takes */

const struct err *
series_over_parse(struct series_over *o, const char *text)
{
	char *next = o->text, *name;

	o->n = 0;
	if (text == NULL)
		return NULL;
	if (strlen(text) >= sizeof(o->text))
		return err_field(ERR_REQUEST, 400, "sum", "is too long");
	snprintf(o->text, sizeof(o->text), "%s", text);
	while ((name = strsep(&next, ",")) != NULL) {
		if (*name == '\0' || o->n == SERIES_SUM_LABELS)
			return err_field(ERR_REQUEST, 400, "sum", "is not 1 to "
			    "%d names of labels with commas between them",
			    SERIES_SUM_LABELS);
		o->names[o->n++] = name;
	}
	return NULL;
}

static bool
series_over_has(const struct series_over *o, const char *label)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->names[i], label) == 0)
			return true;
	return false;
}

/* ---- groups ---- */

static size_t
sum_labels(struct label *out, const struct series_desc *d,
    const struct series_over *over)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_labels; i++)
		if (!series_over_has(over, d->labels[i].name))
			out[n++] = d->labels[i];
	return n;
}

static bool
sum_labels_are(const struct series_sum *sum, const struct label *labels,
    size_t n)
{
	if (n != sum->n_labels)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(labels[i].name, sum->labels[i].name) != 0 ||
		    strcmp(labels[i].value, sum->labels[i].value) != 0)
			return false;
	return true;
}

bool
series_sum_has_labels(const struct series_sum *sum,
    const struct series_desc *d)
{
	return sum_labels_are(sum, d->labels, d->n_labels);
}

static bool
sum_takes(const struct series_sum *sum, const struct series_desc *d,
    const struct label *labels, size_t n)
{
	const struct series_desc *first = &sum->members[0]->desc;

	return d->kind == first->kind && d->scale == first->scale &&
	    strcmp(d->name, first->name) == 0 &&
	    strcmp(d->unit, first->unit) == 0 &&
	    sum_labels_are(sum, labels, n);
}

bool
series_sum_takes(const struct series_sum *sum, const struct series_desc *d,
    const struct series_over *over)
{
	struct label labels[SUM_LABELS_MAX];

	return d->n_labels <= SUM_LABELS_MAX &&
	    sum_takes(sum, d, labels, sum_labels(labels, d, over));
}

static struct series_sum *
sum_find(struct series_sum *sums, size_t n_sums,
    const struct metric_series *m, const struct series_over *over,
    struct label *labels, size_t *n_labels)
{
	*n_labels = sum_labels(labels, &m->desc, over);
	for (size_t i = 0; over->n > 0 && i < n_sums; i++)
		if (sum_takes(&sums[i], &m->desc, labels, *n_labels))
			return &sums[i];
	return NULL;
}

static bool
sum_add(struct series_sum *sum, const struct metric_series *m)
{
	const struct metric_series **grown = realloc(sum->members,
	    (sum->n + 1) * sizeof(struct metric_series *));

	if (grown == NULL)
		return false;
	sum->members = grown;
	sum->members[sum->n++] = m;
	return true;
}

const struct err *
series_sums_new(struct series_sum **out, size_t *n_out,
    const struct metric_series *series, size_t n,
    const struct series_over *over)
{
	struct series_sum *sums = calloc(n + 1, sizeof(*sums)), *sum;

	*out = sums;
	*n_out = 0;
	for (size_t i = 0; sums != NULL && i < n; i++) {
		size_t n_labels, room = series[i].desc.n_labels + 1;
		struct label *labels = calloc(room, sizeof(*labels));

		if (labels == NULL)
			return err_nomem();
		sum = sum_find(sums, *n_out, &series[i], over, labels,
		    &n_labels);
		if (sum == NULL) {
			sum = &sums[(*n_out)++];
			sum->labels = labels;
			sum->n_labels = n_labels;
		} else {
			free(labels);
		}
		if (!sum_add(sum, &series[i]))
			return err_nomem();
	}
	return sums == NULL ? err_nomem() : NULL;
}

void
series_sums_free(struct series_sum *sums, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(sums[i].members);
		free(sums[i].labels);
		free(sums[i].times);
	}
	free(sums);
}

/* ---- quotients ---- */

void
series_add_quotient(int128 *num, uint128 *den, int128 num2, uint128 den2)
{
	uint128 common;

	if (*den == den2) {
		*num += num2;
		return;
	}
	while (*den >> 40 != 0) {
		*num /= 2;
		*den /= 2;
	}
	common = mean_gcd(*den, den2);
	*num = *num * (int128)(den2 / common) +
	    num2 * (int128)(*den / common);
	*den *= den2 / common;
}
