/*
 * A file whose names take more memory than merging may have is not merged as
 * it is.  Its loudest services go into a late file of their own, which is never
 * merged; the rest is small:
 *
 *	span-6-4096-17.mdb	a b c loud
 *	apart-6-4096-17-18.mdb	      loud	as late data, until all goes
 *	span-6-4096-19.mdb	a b c		and so into the summary
 *
 * Where that does not help the file is set apart as a whole: it becomes
 * apart-6-4096-17.mdb.  Names say what was done, for who has to know without a
 * manifest: a part counts only where nothing is left of the file that it is
 * of, which goes once the other part is there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/write/work.h"

static uint64_t
apart_number(const struct manifest_file *f)
{
	enum manifest_kind kind;
	uint64_t number = 0;

	manifest_name_is(f->name, &kind, &number);
	return number;
}

static const struct err *
apart_whole(struct store_writer *w, struct change *c,
    const struct manifest_file *f)
{
	struct manifest_file apart = *f;
	const struct err *e;

	apart.kind = MANIFEST_LATE;
	snprintf(apart.name, sizeof(apart.name), MANIFEST_APART "%u-%" PRIu64
	    "-%" PRIu64 ".mdb", f->level, f->first, apart_number(f));
	if (linkat(w->dir, f->name, w->dir, apart.name, 0) != 0 &&
	    errno != EEXIST)
		return err_errno("%s/%s", w->path, apart.name);
	log_info("store: %s has too many names to be merged, and becomes %s",
	    f->name, apart.name);
	if ((e = work_made(c, apart.name)) != NULL)
		return e;
	work_drop(c, f->name);
	return manifest_add(&c->next, &apart);
}

/* Closes the input that was opened last; `again`: it will be opened anew,
 * since its names went as a file was made of it. */
static void
apart_close(struct inputs *in, bool again)
{
	sealed_close(in->sources[--in->n].file);
	in->n_names -= again;
}

/* Of the input that was opened last: its loud services as a late file. */
static const struct err *
apart_build(struct store_writer *w, struct change *c, struct inputs *in,
    const struct manifest_file *f, const struct loud *loud)
{
	struct sealed_meta meta = work_meta(w, f->first, f->level);
	struct seal_drop drop = {.loud = loud, .others = true,
	    .until = UINT64_MAX, .slot_ns = w->options.slot_ns};
	struct seal_source s = in->sources[in->n - 1];
	const struct err *e;

	log_info("store: %s has too many names to be merged: those of %zu "
	    "services, %s first, are set apart", f->name, loud->n,
	    loud->names[0]);
	s.facts = false;
	s.drop = &drop;
	e = work_build_part(w, c, apart_number(f), &meta, &s);
	apart_close(in, e == NULL);
	return e;
}

/* Opens what the loud ones, which become the input's, leave of a file that
 * goes. */
static const struct err *
apart_open_rest(struct store_writer *w, struct inputs *in,
    const struct manifest_file *f, const struct loud *loud, bool facts)
{
	size_t i = in->n;
	const struct err *e = work_open_input(w, in, f, 0, UINT64_MAX, facts);

	if (e != NULL)
		return e;
	in->drop[i] = (struct seal_drop){.loud = &in->loud[i],
	    .until = UINT64_MAX, .slot_ns = w->options.slot_ns};
	in->loud[i] = *loud;
	in->sources[i].drop = &in->drop[i];
	return NULL;
}

/* Writes what they leave of a span that stays; and opens that. */
static const struct err *
apart_build_rest(struct store_writer *w, struct change *c, struct inputs *in,
    const struct manifest_file *f, const struct loud *loud)
{
	struct sealed_meta meta = work_meta(w, f->first, f->level);
	const struct err *e = apart_open_rest(w, in, f, loud, true);
	uint32_t n = c->next.n;

	if (e != NULL)
		return e;
	e = work_build(w, c, f->kind, &meta, &in->sources[in->n - 1], 1);
	apart_close(in, e == NULL);
	in->loud[in->n] = (struct loud){0}; /* the caller's */
	if (e == NULL && c->next.n > n)
		e = work_open_input(w, in, &c->next.files[n], 0, UINT64_MAX,
		    false);
	work_drop(c, f->name);
	return e;
}

/* Opens a file that has more names than it may: without its loud services,
 * whole where there is room, or not at all. */
static const struct err *
apart_open(struct store_writer *w, struct change *c, struct inputs *in,
    struct work_room *room, const struct work_list *list,
    const struct manifest_file *f, uint64_t most)
{
	const struct err *e = work_open_input(w, in, f, 0, UINT64_MAX,
	    list->facts);
	struct loud loud = {0};

	if (e == NULL)
		e = loud_find(&loud, in->sources[in->n - 1].file, f->names,
		    most);
	if (e == NULL && loud.n > 0 && work_room_takes(room, loud.rest)) {
		e = apart_build(w, c, in, f, &loud);
		if (e == NULL && !list->replaced)
			e = apart_build_rest(w, c, in, f, &loud);
		else if (e == NULL && (e = apart_open_rest(w, in, f, &loud,
		        list->facts)) == NULL)
			return NULL;
	} else if (e == NULL && !work_room_takes(room, f->names)) {
		apart_close(in, false);
		e = apart_whole(w, c, f);
	}
	loud_fini(&loud);
	return e;
}

/* ---- all inputs of a step ---- */

static int
apart_compare(const void *a, const void *b)
{
	const struct manifest_file *x = a, *y = b;

	return x->names < y->names ? -1 : x->names > y->names;
}

/* Spans first: as the last to go they tell repair what was merged. */
static void
apart_drop(struct change *c, const struct work_list *list,
    enum manifest_kind kind)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->files[i].kind == kind &&
		    manifest_find(&c->next, list->files[i].name) != NULL)
			work_drop(c, list->files[i].name);
}

/* Each may take an equal share of what those before it have left. */
const struct err *
work_open_inputs(struct store_writer *w, struct change *c, struct inputs *in,
    struct work_room *room, struct work_list *list)
{
	const struct err *e = NULL;

	qsort(list->files, list->n, sizeof(*list->files), apart_compare);
	for (size_t i = 0; i < list->n && e == NULL; i++) {
		const struct manifest_file *f = &list->files[i];
		uint64_t most = room->left / (list->n - i);

		if (f->names > most) {
			e = apart_open(w, c, in, room, list, f, most);
			continue;
		}
		work_room_takes(room, f->names);
		e = work_open_input(w, in, f, 0, UINT64_MAX, list->facts);
	}
	if (list->replaced) {
		apart_drop(c, list, MANIFEST_SPAN);
		apart_drop(c, list, MANIFEST_LATE);
	}
	return e;
}
