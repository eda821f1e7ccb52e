/*
 * Which labels there are: of series and of their stacks, in a range.
 */
#ifndef FCGI_LABELSETS_H
#define FCGI_LABELSETS_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct err;
struct selector;

typedef const struct err *labelsets_fn(void *arg,
    const struct totals_group *g);

/* Each (series, label set) of a selector; the whole store where until_ns is 0.
 * Errors of fn and of store_query_totals(). */
const struct err *labelsets_each(struct store *s,
    const struct selector *selector, int64_t from_ns, int64_t until_ns,
    labelsets_fn *fn, void *arg);

/* Texts, each once, sorted by bytes. */
struct label_texts {
	const char **list; /* NUL-terminated, borrowed from `bytes` */
	size_t n;
	struct buf bytes;  /* private */
};

/* false when out of memory. */
bool label_texts_add(struct label_texts *t, const char *text);
/* Sorts, drops what is there twice, and makes the list. */
const struct err *label_texts_finish(struct label_texts *t);
void label_texts_fini(struct label_texts *t);

#endif
