/*
 * What merging takes into memory are the names of its files.  A file that
 * would bring too many is not merged any more: it is set apart, beside what is
 * made of the others, as late data of its slots, until all data goes.  Its name
 * says so, for who has to know without a manifest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/write/work.h"

/* What the names of all files that one step takes may need. */
#define ROOM_NAMES (16u << 20)

/* Of a file itself; those of before do not say. */
static uint64_t
room_ask(struct store_writer *w, const struct manifest_file *f)
{
	struct sealed *file;
	uint64_t names = 0;
	char path[4200];

	work_path(w, f->name, path, sizeof(path));
	if (sealed_open_nameless(&file, path) == NULL) {
		names = file->meta.names;
		sealed_close(file);
	}
	if (names == 0 && sealed_open(&file, path) == NULL) {
		names = sealed_bytes(file);
		sealed_close(file);
	}
	return names > 0 ? names : 1; /* merging finds what is wrong */
}

void
work_know_names(struct store_writer *w)
{
	for (uint32_t i = 0; i < w->manifest.n; i++) {
		struct manifest_file *f = &w->manifest.files[i];

		if (f->names == 0 && f->kind != MANIFEST_JOURNAL &&
		    f->kind != MANIFEST_IDS)
			f->names = room_ask(w, f);
	}
}

struct work_room
work_room(const struct store_writer *w, const struct manifest_file *first)
{
	struct work_room room = {w->options.merge_bytes > 0
	        ? w->options.merge_bytes : ROOM_NAMES, true};

	if (first != NULL && first->name[0] != '\0')
		work_room_takes(&room, first);
	return room;
}

/* The first one always: it stays as large as it is. */
bool
work_room_takes(struct work_room *room, const struct manifest_file *f)
{
	bool fits = room->first || f->names <= room->left;

	if (!fits)
		return false;
	room->left -= f->names < room->left ? f->names : room->left;
	room->first = false;
	return true;
}

const struct err *
work_set_apart(struct store_writer *w, struct change *c,
    const struct manifest_file *f)
{
	struct manifest_file apart = *f;
	enum manifest_kind kind;
	const struct err *e;
	uint64_t number = 0;

	manifest_name_is(f->name, &kind, &number);
	apart.kind = MANIFEST_LATE;
	snprintf(apart.name, sizeof(apart.name), MANIFEST_APART "%u-%" PRIu64
	    "-%" PRIu64 ".mdb", f->level, f->first, number);
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

static int
room_compare(const void *a, const void *b)
{
	const struct manifest_file *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->names < y->names ? -1 : x->names > y->names;
}

const struct err *
work_open_inputs(struct store_writer *w, struct change *c, struct inputs *in,
    struct work_room *room, struct work_list *list)
{
	const struct err *e = NULL;

	qsort(list->files, list->n, sizeof(*list->files), room_compare);
	for (size_t i = 0; i < list->n && e == NULL; i++) {
		const struct manifest_file *f = &list->files[i];

		if (!work_room_takes(room, f)) {
			e = work_set_apart(w, c, f);
			continue;
		}
		e = work_open_input(w, in, f, 0, UINT64_MAX, list->facts);
		if (list->replaced)
			work_drop(c, f->name);
	}
	return e;
}
