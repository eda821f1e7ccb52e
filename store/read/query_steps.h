/*
 * What queries over consecutive steps share: metrics and histograms.  Not for
 * programs.
 */
#ifndef STORE_QUERY_STEPS_H
#define STORE_QUERY_STEPS_H

#include "store/read/reader.h"

#define QUERY_POINTS 2000000 /* of all series together */

/* A file of the plan, and where its first block begins. */
struct steps_file {
	struct reader_file *file;
	uint64_t start;
};

struct steps {
	struct store *s;
	struct plan plan;
	struct steps_file *files; /* each once */
	size_t n_files, cap_files;
	uint64_t from, until, step; /* slots */
	size_t n;
	bool newest;
	bool numbers; /* blocks have no entries */
	struct block found; /* private */
};

/* Checks that borders and step are whole slots and the points not too many;
 * steps_fini() also after an error. */
const struct err *steps_init(struct steps *t, struct store *s, int64_t from_ns,
    int64_t until_ns, int64_t step_ns);
/* Finds the blocks of all steps and opens their files. */
const struct err *steps_plan(struct steps *t);
void steps_fini(struct steps *t);

/* Calls fn for each block of a series that files or journals hold; `slots`
 * is what the block covers, entries are keys of the series' kind.  File
 * blocks first. */
typedef const struct err *steps_fn(void *arg, size_t step,
    const struct block *b, uint64_t slots);
const struct err *steps_each(struct steps *t, uint32_t series, steps_fn *fn,
    void *arg);

/*
 * The whole of a query over steps: which series match, each of them in turn,
 * and all once more without a file that turned out to be broken.
 */
struct steps_query {
	const struct selector *selector;
	int64_t from_ns, until_ns, step_ns;
	size_t max_series; /* ERR_REQUEST 413 beyond */
	unsigned kinds;    /* READER_METRICS or so */
	bool newest;       /* blocks of files before what a journal has of the
	                    * series are not asked for */
	/* room for n series */
	const struct err *(*begin)(void *arg, size_t n);
	/* Fills place `at` of the answer; *has: there is something, and the
	 * next one goes behind it.  Else, and after an error, the place is as
	 * it was. */
	const struct err *(*one)(void *arg, struct steps *t, uint32_t series,
	    size_t at, bool *has);
	/* frees the room and the n series in it */
	void (*drop)(void *arg, size_t n);
	void *arg;
};

/* *n: how many series the answer has; after an error it is dropped. */
const struct err *steps_query(struct store *s, const struct steps_query *q,
    size_t *n);

/* A descriptor that outlives the reader's tables: its labels and all strings
 * are in *labels, which the caller frees. */
const struct err *steps_describe(struct series_desc *out,
    struct label **labels, const struct series_desc *d);

#endif
