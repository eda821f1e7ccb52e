/*
 * Inside the reader: what reader.c (files and journals), plan.c (which blocks
 * answer a range) and query_*.c share.  Not for programs.
 */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "store/batch/symtab.h"
#include "store/file/gaps.h"
#include "store/file/manifest.h"
#include "store/file/sealed.h"
#include "store/file/series_index.h"
#include "store/journal/journal.h"
#include "store/journal/open_index.h"
#include "store/read/merged_tree.h"
#include "store/read/roster.h"
#include "store/store.h"

struct brief;
struct type;

#define READER_WINDOW (64u << 10) /* of a file's dictionary: is kept */
#define QUERY_TRIES 5 /* when the writer replaces files under a query */

/* Series of a file that the reader has numbers for. */
struct reader_known {
	uint32_t number, series; /* the file's, the reader's */
};

static inline uint32_t
reader_known_hash(uint32_t series)
{
	return (uint32_t)hash64_u64(0, series);
}

struct reader_series_map {
	struct reader_known *list;
	uint32_t n, cap;
	struct hashtable places; /* of the list, by the reader's */
	uint32_t *names;     /* strings of the index's heads, or INTERN_NONE */
	struct buf lists[INDEX_LISTS]; /* the index's, where they are few */
	uint8_t *taken[INDEX_LISTS]; /* bits by service: all its series are; */
	uint8_t *heads;              /* by head: those of all services, */
	bool all[INDEX_LISTS];       /* and of all heads */
};

/* The newest blocks of series of a file, of one slot each: who asks for them
 * does so again in a moment. */
struct reader_newest {
	struct map64 places; /* the file's series -> which block */
	struct block *blocks;
	uint32_t n, cap;
};

/* A sealed file of the manifest; opened when it is first needed. */
struct reader_file {
	struct manifest_file entry;
	struct sealed *sealed;  /* NULL: not opened, or broken */
	struct series_index index;
	struct reader_series_map known; /* series that were asked for */
	struct openspan names;  /* its dictionary and facts; stacks and facts
	                         * from reader_need_dict() on: */
	uint32_t *stack_nodes;  /* stack number -> node of the reader, or
	                         * INTERN_NONE: not asked for yet */
	uint8_t *named;         /* bits by series: all its stacks are; NULL:
	                         * reader_need_dict() was not called */
	uint8_t *large;         /* they are too many to name all of them */
	uint64_t *ends;         /* by series: a slot from which on it is known
	                         * to have nothing; NULL: of none */
	struct roster_file *roster; /* NULL: no list has read it yet */
	struct reader_newest newest;
	bool unnamed;           /* name all stacks next time */
	uint64_t asked;         /* number of the last reader_need_names() */
	uint64_t used, before; /* numbers of the last two requests that did */
	bool facts_known;    /* it was open once: */
	uint32_t fact_kinds; /* bit k: it has facts of kind k */
	bool broken;     /* damaged: skipped, tried again with the next
	                  * manifest, but not for ever: */
	bool gone;       /* somebody has deleted it */
	unsigned breaks; /* Berkeley DB leaks 15 KB a try */
};

struct reader_journal {
	char name[MANIFEST_NAME];
	struct journal_reader reader;
	struct openspan span;
	struct gaps gaps;
	const char *shut; /* why it is not read at all, else NULL; where
	                   * there is no descriptor, opened again and again */
	const char *lost; /* the same, or why nothing can be read from it */
	uint64_t known;   /* bytes that the manifest knows it to have */
	bool headless;    /* its header is damaged */
	bool changed;     /* it is not what was read of it: no index of it is
	                   * believed any more */
	uint64_t counted; /* damage that s->damaged has */
	bool torn; /* its end is part of a record, and will stay so */
	uint64_t torn_until; /* slot up to which it may lack some */
};

/* Values of nodes, dense, and which are not 0. */
struct node_values {
	int128 *values;
	uint32_t *touched;
	size_t n_touched, cap;
};

/* What a query knows of a node of the shown tree. */
struct merged_value {
	int128 self, total;
	uint32_t count;       /* of nodes with a total, itself and below */
	uint32_t child, next; /* of those that are shown; 0: none */
	uint32_t module;      /* string */
};

/*
 * Memory of one query by node, kept for the next: to have it zeroed anew for
 * half a million nodes takes longer than most answers.  All 0 between
 * queries, but for the lists, whose content does not matter.
 */
struct reader_scratch {
	struct node_values sum, one, slot;
	struct node_values samples, /* of mixed periods alone, and the units */
	    unknown;                /* without: made by scratch_samples() */
	uint64_t *seen; /* bits by node of either tree */
	uint32_t *sets; /* list: node -> its label set; n_sets known */
	size_t n_sets, cap;
	struct merged_value *shown; /* by node of the shown tree */
	uint32_t *visited;         /* list of those */
	size_t cap_shown;
};

/* What of a series tells whether it matches: the table's are all over the
 * memory.  `service` is the string of that label, or INTERN_NONE; `next` is the
 * first after it of another name, unit or kind. */
struct reader_series {
	uint32_t series, labels, name, unit, kind, service, next;
};

struct store {
	char *path;
	int dir;
	size_t limit;
	size_t names, /* bytes, as the last request began; and how many the
	               * greediest question since they were forgotten took */
	    greediest;
	size_t question; /* bytes: names and files of the greediest of late */
	uint32_t most_nodes; /* of call trees, for one question */
	bool roots;   /* syms.roots */
	bool refused; /* one that has more: its names are of no use */
	struct manifest manifest;
	bool loaded; /* the lists below are those of the manifest */
	struct symtab syms;
	struct reader_file *files; /* of the manifest, journals left out */
	uint32_t n_files;
	struct reader_journal **journals;
	uint32_t n_journals;
	struct reader_series *sorted; /* all, in the order of their bytes */
	uint32_t n_sorted, cap_sorted;
	struct roster roster; /* services of files that lists have read */
	struct merged_tree shown, by_module; /* the second when asked for */
	struct reader_scratch scratch;
	uint64_t damaged; /* records of journals */
	uint64_t requests; /* refreshes, for who was used last */
	uint64_t asks;     /* calls of reader_need_names() */
	uint64_t breaks;  /* files that were found broken, ever */
	struct store_missing missing[STORE_MISSING_MAX];
	size_t n_missing;
	int unwatched; /* not 0: nothing is added to it */
};

/* Opens a file if it is not; a damaged one becomes broken, which is no
 * error.  ENOENT (the writer has replaced it) is. */
const struct err *reader_need(struct store *s, struct reader_file *f);
void reader_close_file(struct reader_file *f);
/* reader_series.c: takes up the index of a file that is being opened. */
const struct err *reader_take_index(struct store *s, struct reader_file *f);
/* Slots [from, until). */
struct reader_range {
	uint64_t from, until;
};
/* Series of a file that may match a selector (NULL: all), of some kinds, get
 * the reader's numbers; with a range perhaps not those that have nothing in it.
 * A damaged file becomes broken, which is no error. */
const struct err *reader_need_series(struct store *s, struct reader_file *f,
    const struct selector *sel, unsigned kinds,
    const struct reader_range *range);
/* Each series of one list of all services, as the index has it; errors are
 * the file's, or of fn.  And the bytes of all lists, in `room` or in place. */
typedef const struct err *reader_listed_fn(void *arg, uint32_t service,
    const struct index_series *x);
const struct err *reader_each_listed(struct reader_file *f,
    enum index_list list, reader_listed_fn *fn, void *arg);
const struct err *reader_read_lists(struct reader_file *f, struct buf *room,
    const uint8_t **p);
/* A string of the index's head in the reader's table: 0 its name, 1 its unit,
 * then labels.  INTERN_NONE: out of memory. */
uint32_t reader_head_string(struct store *s, struct reader_file *f,
    uint32_t head, uint32_t i);
/* The file's number of a series of the reader, or INTERN_NONE. */
static inline uint32_t
reader_series(const struct reader_file *f, uint32_t series)
{
	const struct reader_series_map *m = &f->known;

	hashtable_each(i, &m->places, reader_known_hash(series)) {
		if (m->list[i].series == series)
			return m->list[i].number;
	}
	return INTERN_NONE;
}
void reader_series_map_fini(struct reader_series_map *m);
size_t reader_series_map_bytes(const struct reader_file *f);
/* reader_names.c: where a file that is open has its stacks and facts. */
const struct err *reader_need_dict(struct store *s, struct reader_file *f);
/* The same of all series, when it is read whole: the index is made of it. */
const struct err *reader_read_dict(struct store *s, struct reader_file *f,
    bool series);
/* The stacks of these series get the reader's numbers.  A damaged file
 * becomes broken, which is no error. */
const struct err *reader_name_stacks(struct store *s, struct reader_file *f,
    const uint32_t *series, size_t n);
/* The error of a query that meets a stack without a name. */
const struct err *reader_unnamed(struct reader_file *f);
/* What all that the reader keeps takes; and that without the journals' indexes,
 * which store_open() bounds. */
size_t reader_bytes(const struct store *s);
size_t reader_kept_bytes(const struct store *s);
/* Is that so much that all of it goes once the question is answered? */
bool reader_is_over(const struct store *s);
/* What symbols take, and what goes with their number. */
size_t reader_names_bytes(const struct store *s);
/* Between requests: dictionaries of sealed files that were read as a whole
 * go, but for their places. */
void reader_drop_windows(struct store *s);
/* Between requests: closes files until all that is kept fits, or none is left:
 * first those whose last use but one is longest ago, so that what many
 * questions need outlives one that reads a month. */
void reader_make_room(struct store *s);
/* As a request ends: how much it has needed. */
void reader_measure(struct store *s);
/* When the next journal was begun, or the span of journal i ends. */
uint64_t reader_journal_until(const struct store *s, uint32_t i);
/* missing.c: what an answer over slots [from, until) lacks, if anything: of
 * one file that it would read; where no other file stands in for a summary;
 * of journals and of what is lost for good. */
void missing_file(struct store *s, const struct reader_file *f, uint64_t from,
    uint64_t until);
void missing_summary(struct store *s, uint64_t from, uint64_t until);
void missing_gaps(struct store *s, uint64_t from, uint64_t until);
/* May number `series` of an open file have anything from a slot on?  And: it
 * has nothing; false: out of memory. */
static inline bool
reader_may_have(const struct reader_file *f, uint32_t series, uint64_t slot)
{
	return f->ends == NULL || slot < f->ends[series];
}
bool reader_ends_at(struct reader_file *f, uint32_t series, uint64_t slot);
/* reader_open.c: the same of all journals. */
const struct err *reader_need_listed(struct store *s,
    const struct selector *sel, unsigned kinds,
    const struct reader_range *range);
/* reader_journal.c: follows the journals of a new manifest; ENOENT: one of
 * them is gone already.  Then all of them to their present ends. */
const struct err *reader_adopt_journals(struct store *s,
    const struct manifest *m);
const struct err *reader_follow_journals(struct store *s);
void reader_close_journals(struct store *s);
/* Is this still the manifest?  What it names and is not there is missing;
 * what an older one names the writer may have replaced. */
bool reader_is_current(const struct store *s, uint64_t generation);
/* Asks for the writer's lock without taking it.  Who may not ask believes
 * that there is one. */
bool reader_sees_writer(const struct store *s);
/* Reads what stacks of these series the journals have in slots
 * [from, until), in their order; kept until reader_rest_open(), which is
 * called after errors, too.  ENOENT as of files. */
const struct err *reader_read_open(struct store *s, const uint32_t *series,
    size_t n, uint64_t from, uint64_t until);
void reader_rest_open(struct store *s);
/* Reads them, and they get their numbers: before s->syms is measured. */
const struct err *reader_need_open(struct store *s, const uint32_t *series,
    size_t n, uint64_t from, uint64_t until);
/* The end of the newest slot in [from, until) that any journal has of the
 * series; 0: none has. */
uint64_t reader_newest_open(const struct store *s, uint32_t series,
    uint64_t from, uint64_t until);
/* After a failed read: ERR_REQUEST is no fault of the file; a damaged file
 * becomes broken, which is no error; want of memory is, and the file is opened
 * afresh next time. */
const struct err *reader_failed(struct store *s, struct reader_file *f,
    const struct err *e);
/* Slots since 1970. */
static inline uint64_t
reader_slot(const struct store *s, int64_t time_ns)
{
	return time_ns <= 0 ? 0 : (uint64_t)(time_ns / s->manifest.slot_ns);
}
/* Oldest slot, and the end of the newest. */
void reader_bounds(const struct store *s, uint64_t *from, uint64_t *until);
/* reader_match.c: all numbers of series of some kinds that match, in the order
 * of their bytes, as an array that the caller frees; NULL matches all.  They
 * are those of journals and of the files that this request has needed so
 * far.  The second may leave out those that have nothing in the range. */
#define READER_PROFILES (1u << SERIES_FLOW | 1u << SERIES_STOCK)
#define READER_METRICS (1u << SERIES_GAUGE | 1u << SERIES_COUNTER)
#define READER_HISTOGRAMS (1u << SERIES_HISTOGRAM)
#define READER_ALL UINT32_MAX
const struct err *reader_match(struct store *s, const struct selector *sel,
    unsigned kinds, uint32_t **series, size_t *n);
const struct err *reader_match_range(struct store *s,
    const struct selector *sel, unsigned kinds,
    const struct reader_range *range, uint32_t **series, size_t *n);
/* Does it match by name, unit and kind?  Also a part of what is asked for and
 * nobody stores, made_type(). */
bool reader_match_name(const struct selector *sel, const struct type *made,
    struct series_desc d);
/* s->sorted has the series that have come since, too. */
const struct err *reader_sort(struct store *s);
/* The string of a series' label `service`, or INTERN_NONE. */
uint32_t reader_service(const struct store *s, uint32_t series);

/* One block that answers a part of a range. */
struct plan_piece {
	struct reader_file *file;
	uint64_t start;
	uint32_t step; /* number of the step that it belongs to */
	uint8_t level;
};

struct plan {
	const struct selector *selector; /* of what is asked for; NULL: all */
	unsigned kinds;                  /* READER_METRICS or so */
	struct plan_piece *pieces;
	size_t n, cap;
	/* of the store as the first blocks were added: there may be thousands
	 * of steps, and a month has a hundred files */
	bool begun;
	struct reader_file **late; /* that may have something of it */
	uint32_t n_late;
	struct reader_file *summary;
	struct reader_file *span; /* which held the last block, or NULL */
};

/* Is it known that a file, which need not be open, has nothing of what is
 * asked for, of these kinds? */
bool reader_lacks(const struct reader_file *f, const struct selector *sel,
    unsigned kinds);
/* Adds the blocks of sealed files that cover slots [from, until) exactly. */
const struct err *plan_add(struct plan *p, struct store *s, uint64_t from,
    uint64_t until, uint32_t step);
void plan_fini(struct plan *p);
/* The same in all files of a plan: before s->syms is measured. */
const struct err *reader_need_names(struct store *s, const struct plan *p,
    const uint32_t *series, size_t n);
/* query_facts.c: of which slots of [from, until) a part was seen, of stocks
 * that a selector may concern.  May refresh the store: before anything is
 * planned. */
const struct err *facts_brief(struct store *s, struct brief *b,
    const struct selector *selector, uint64_t from, uint64_t until);

/* Values by node of the reader, and which of them are not zero. */
static inline void
node_values_add(struct node_values *v, uint32_t node, int128 value)
{
	if (v->values[node] == 0)
		v->touched[v->n_touched++] = node;
	v->values[node] += value;
}

const struct err *node_values_init(struct node_values *v, size_t n);
void node_values_fini(struct node_values *v);
void node_values_clear(struct node_values *v);

/* Makes room in s->scratch for all nodes there are; and for those of both
 * merged trees. */
const struct err *scratch_grow(struct store *s);
const struct err *scratch_grow_shown(struct store *s);
/* The same for s->scratch.samples and .unknown, between scratch_grow() and the
 * query's end. */
const struct err *scratch_samples(struct store *s);
void scratch_fini(struct reader_scratch *x);
/* A tree of so many nodes takes longer to write than its memory to zero: none
 * of it is kept.  The values by node go first, which the tree was made from;
 * nothing of them is used before scratch_grow(). */
#define SCRATCH_MOST 131072u
void scratch_drop_values(struct reader_scratch *x);
/* Of those what nobody needs once all is summed. */
void scratch_drop_parts(struct reader_scratch *x);
size_t scratch_bytes(const struct reader_scratch *x);

#endif
