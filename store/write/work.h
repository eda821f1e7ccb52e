/*
 * Steps of the writer's background: what writer_work.c calls in turn, and
 * what the steps share.  Each step builds new files beside the old ones and
 * then replaces the manifest.  Background thread only.
 */
#ifndef STORE_WORK_H
#define STORE_WORK_H

#include "store/file/format.h"
#include "store/file/segtree.h"
#include "store/journal/journal.h"
#include "store/seal/seal.h"
#include "store/write/writer.h"

#define SEAL_SLOTS seg_slots(FORMAT_SEAL_LEVEL)
#define SPAN_SLOTS seg_slots(FORMAT_SPAN_LEVEL)
#define WORK_SOURCES 96 /* files that one step takes together */

/* A change of the manifest that is being prepared. */
struct change {
	struct manifest next;
	char gone[WORK_SOURCES + 8][MANIFEST_NAME]; /* to unlink afterwards */
	size_t n_gone;
	char (*made)[MANIFEST_NAME]; /* to unlink on failure */
	size_t n_made, cap_made;
	/* counted once the change is done */
	uint64_t damaged;     /* records that were skipped */
	uint64_t late_blocks; /* taken into late files */
	uint64_t lost_slots;  /* gone for good, by the cap */
};

const struct err *work_begin(struct store_writer *w, struct change *c);
/* Takes a file out; it is unlinked when the change is done. */
void work_drop(struct change *c, const char *name);
/* Notes a file that was made for it. */
const struct err *work_made(struct change *c, const char *name);
/* Saves the manifest, or, after an error, undoes; returns the first error. */
const struct err *work_end(struct store_writer *w, struct change *c,
    const struct err *e);

/*
 * Builds a file under a temporary name and adds it to the change; a file
 * without content is not kept.
 */
const struct err *work_build(struct store_writer *w, struct change *c,
    enum manifest_kind kind, const struct sealed_meta *meta,
    const struct seal_source *sources, size_t n);
/* The same of a part of the file with number `of`, which is never merged. */
const struct err *work_build_part(struct store_writer *w, struct change *c,
    uint64_t of, const struct sealed_meta *meta,
    const struct seal_source *source);
void work_path(const struct store_writer *w, const char *name, char *path,
    size_t size);
/* A span of slots with all its levels. */
struct sealed_meta work_meta(const struct store_writer *w, uint64_t first,
    unsigned level);
bool work_inside(const struct manifest_file *f, uint64_t first,
    uint64_t slots);
bool work_overlaps(const struct manifest_file *f, uint64_t first,
    uint64_t slots);

/* work_merge.c: the summary of all full spans up to `until`: the old one,
 * with the spans from `from` on, and the one that begins at `again`, taken
 * anew from the files of the change; `drop` is taken out of the old one. */
const struct err *work_build_summary(struct store_writer *w,
    struct change *c, uint64_t from, uint64_t until, uint64_t again,
    const struct seal_drop *drop);
uint64_t work_summary_until(const struct manifest *m);
/* Its line; without a name: there is none. */
struct manifest_file work_summary(const struct manifest *m);
/* Levels of a summary that ends at slot `until`. */
struct sealed_meta work_summary_meta(const struct store_writer *w,
    uint64_t until);
/* Makes one span of `level` from all span and late files within it, and
 * takes it into the summary if that holds it. */
const struct err *work_merge_span(struct store_writer *w, uint64_t first,
    unsigned level);
/* No span is taken anew. */
#define WORK_NO_SPAN (UINT64_MAX - SPAN_SLOTS)

/* Opened inputs of one step. */
struct inputs {
	struct seal_source sources[WORK_SOURCES];
	struct loud loud[WORK_SOURCES]; /* what is taken out of each, */
	struct seal_drop drop[WORK_SOURCES]; /* if sources[].drop is this */
	size_t n;
	char names[WORK_SOURCES + 1][MANIFEST_NAME]; /* tried */
	size_t n_names;
};

const struct err *work_open_input(struct store_writer *w, struct inputs *in,
    const struct manifest_file *f, uint64_t from, uint64_t until, bool facts);
/* Closes them.  `e` is how the step ended: if the cause may be a damaged
 * input, notes which in w->damaged. */
void work_close_inputs(struct store_writer *w, struct inputs *in,
    const struct err *e);

/* work_damage.c: what can be read of the file that w->damaged names is written
 * anew, so that the work goes on without it; its bytes stay as NAME.bad, and
 * what answers lack from then on are gaps of the manifest. */
const struct err *work_set_aside(struct store_writer *w);
/* Notes the first of these files that is damaged. */
void work_find_damage(struct store_writer *w, const struct inputs *in,
    const struct err *e);

/* A journal that nothing is written to any more. */
struct old_journal {
	char name[MANIFEST_NAME];
	uint64_t first;
	bool empty;  /* it holds nothing */
	bool broken; /* nothing in it can be read, or it is a copy of another */
	bool copy;   /* the latter */
	bool guessed; /* its header is damaged, its records tell `first` */
	bool gone;   /* somebody has deleted it or cut off all: empty, too */
	bool cut;    /* the latter */
	uint64_t known; /* bytes that the manifest knows it to have */
};

/* work_room.c: memory for the names of files that are merged. */
struct work_room {
	uint64_t left; /* bytes */
	bool first;    /* nothing was taken yet */
};
/* Of all files, which are asked for it once. */
void work_know_names(struct store_writer *w);
/* With a file that is taken in any case; NULL or one without a name: none. */
struct work_room work_room(const struct store_writer *w,
    const struct manifest_file *first);
bool work_room_takes(struct work_room *room, uint64_t names);
/* Copies of the manifest's lines. */
struct work_list {
	struct manifest_file files[WORK_SOURCES];
	size_t n;
	bool facts;    /* take theirs, too */
	bool replaced; /* they go */
};
/* work_apart.c: opens them, those with the fewest names first; of what there
 * is no room for the loudest services are set apart, or all of it. */
const struct err *work_open_inputs(struct store_writer *w, struct change *c,
    struct inputs *in, struct work_room *room, struct work_list *list);

/* work_journal.c: what is it? */
const struct err *work_look_journal(struct store_writer *w,
    const struct manifest_file *f, struct old_journal *out);
/*
 * The journals of one span on their way into files, in pieces: what was read
 * of them, and the names of that.
 */
struct sealing {
	struct store_writer *w;
	struct change *c;
	uint64_t first; /* of the span, */
	unsigned level; /* FORMAT_SEAL_LEVEL, or FORMAT_SHORT_LEVEL */
	bool early;
	struct symtab syms;
	struct memspan m;
	size_t named; /* bytes of syms that the last piece had, too */
	struct manifest_gap torn; /* cut off the end of the last journal; waits
	                           * for where the next one begins */
};

/* Reads one of a span, and notes in the change what it lacks. */
const struct err *work_read_journal(struct sealing *s,
    const struct old_journal *j);
/* work_seal.c: around each record: names of an old dictionary go, and what is
 * enough for one piece becomes files. */
const struct err *work_before_record(struct sealing *s,
    struct journal_reader *r, const struct batch *b);
const struct err *work_after_record(struct sealing *s,
    struct journal_reader *r);
static inline uint64_t
sealing_until(const struct sealing *s)
{
	return s->first + seg_slots(s->level);
}
/* The slot that it is now. */
uint64_t work_present(struct store_writer *w);
/* There is no next one. */
void work_end_torn(struct change *c, struct manifest_gap *torn);
/* Notes in the manifest, which the caller saves, that a journal is gone or
 * cannot be read: its slots are those behind all that is sealed and in the
 * journals before it.  It may have held late data of all slots before. */
void work_mark_unread(struct store_writer *w, const struct old_journal *j);

/* work_seal.c: seals one span whose journals are all old and whose time is
 * over.  *open_from: start of the oldest span that may still change. */
const struct err *work_seal(struct store_writer *w, bool *did,
    uint64_t *open_from);
/* Seals all old journals now, as late files where their time is not over. */
const struct err *work_seal_early(struct store_writer *w);
/* work_merge.c: merges one span that is complete and worth it; takes full
 * spans into the summary. */
const struct err *work_merge(struct store_writer *w, uint64_t open_from,
    bool *did);
const struct err *work_summarize(struct store_writer *w, uint64_t open_from,
    bool *did);
/* work_retain.c: removes the oldest file when it is too old or too much. */
const struct err *work_retain(struct store_writer *w, bool *did);
/* The slot before which everything is older than `age_ns`; 0 while the clock
 * is not to be believed.  Data is not old before newer data has come. */
uint64_t work_limit(struct store_writer *w, int64_t age_ns);
/* May `slots` of data go now?  Notes it when they are held back. */
bool work_may_go(struct store_writer *w, uint64_t slots);
/* work_index.c: brings the index beside the present journal up to date; without
 * one readers take longer, which is all. */
void work_index(struct store_writer *w);
/* work_unwatched.c: takes what nobody watches out of the oldest file that has
 * something of it and is older than that may be. */
const struct err *work_retain_unwatched(struct store_writer *w, bool *did);

/* purge.c: writes one span or late file anew without what goes, and the
 * summary where it holds it.  f is not of w->manifest. */
const struct err *purge_file(struct store_writer *w,
    const struct manifest_file *f, const struct seal_drop *drop);
/* The same of the summary alone, where there is one. */
const struct err *purge_summary(struct store_writer *w,
    const struct seal_drop *drop);

#endif
