/*
 * Which files tell what is there in a range: what lists of series, of services
 * and of types share.
 */
#ifndef STORE_QUERY_LIST_H
#define STORE_QUERY_LIST_H

#include "store/read/reader.h"

#define LIST_SPANS 4  /* of the summary's, that are opened in its place; */

/*
 * What is asked for, and which files tell it.  Of the full spans that the
 * summary holds the newest do.  Where there are more, or some are gone, series
 * that these lack are looked up in the summary, one by one.
 */
struct list {
	struct store *s;
	const struct selector *sel;   /* NULL: all */
	unsigned kinds;
	bool told;                    /* words of the manifest are enough */
	uint64_t from, until;         /* slots asked for */
	struct reader_file *summary;  /* NULL: there is none */
	/* the newest of the spans that it stands for, oldest first */
	struct reader_file *spans[LIST_SPANS];
	size_t n_spans;
	bool known;                   /* they tell all that it could */
	uint32_t *order;              /* series that match: `found` */
	size_t found;
};

/*
 * Opens the files of a range, but for those whose words are enough (`told`);
 * what matches gets its numbers (kinds 0: nothing does); again where one is
 * found broken.  list_fini() also after an error.
 */
const struct err *list_init(struct list *l, struct store *s,
    const struct selector *sel, unsigned kinds, bool told, int64_t from_ns,
    int64_t until_ns);
void list_fini(struct list *l);
/* The end of what a file tells: of what it has, that is exact when it lives on
 * to the file's end.  0: it is not asked. */
uint64_t list_end(const struct list *l, const struct reader_file *f);
/* The end of the newest slot that the summary has of a series, or 0. */
const struct err *list_summary_last(struct list *l, uint32_t series,
    uint64_t *last);
/* Notes what the list lacks, once all has been opened. */
void list_missing(struct list *l);

#endif
