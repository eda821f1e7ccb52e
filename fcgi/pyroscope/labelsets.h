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

/* All (series, label set) of a selector, one group each; the whole store
 * where until_ns is 0.  totals_free() it. */
const struct err *labelsets_load(struct store *s,
    const struct selector *selector, int64_t from_ns, int64_t until_ns,
    struct totals **out);

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
