/*
 * A step of the background: new files, then a new manifest, then the old
 * files go; or nothing at all.
 */
#include "store/write/work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/journal/journal.h"

const struct err *
work_begin(struct store_writer *w, struct change *c)
{
	c->n_gone = c->n_made = c->cap_made = 0;
	c->made = NULL;
	c->damaged = c->late_blocks = c->lost_slots = 0;
	return manifest_copy(&c->next, &w->manifest);
}

void
work_drop(struct change *c, const char *name)
{
	char copy[MANIFEST_NAME]; /* `name` may stand in the manifest */

	snprintf(copy, sizeof(copy), "%s", name);
	manifest_remove(&c->next, copy);
	if (c->n_gone < WORK_SOURCES + 8) /* else removed at the next start */
		memcpy(c->gone[c->n_gone++], copy, sizeof(copy));
}

const struct err *
work_made(struct change *c, const char *name)
{
	if (!array_room(&c->made, c->n_made + 1, &c->cap_made))
		return err_nomem();
	snprintf(c->made[c->n_made++], MANIFEST_NAME, "%s", name);
	return NULL;
}

static void
work_count(struct store_writer *w, const struct change *c)
{
	pthread_mutex_lock(&w->mutex);
	w->stats.damaged_records += c->damaged;
	w->stats.late_blocks += c->late_blocks;
	w->stats.lost_slots += c->lost_slots;
	pthread_mutex_unlock(&w->mutex);
}

const struct err *
work_end(struct store_writer *w, struct change *c, const struct err *e)
{
	bool published = false;

	if (e == NULL)
		e = manifest_save(&c->next, w->dir, &published);
	if (!published) {
		for (size_t i = 0; i < c->n_made; i++)
			unlinkat(w->dir, c->made[i], 0);
		free(c->made);
		w->manifest.generation = c->next.generation;
		manifest_fini(&c->next);
		return e;
	}
	free(c->made);
	manifest_fini(&w->manifest);
	w->manifest = c->next;
	work_count(w, c);
	/* While a crash may bring the old manifest back, its files stay.  Spans
	 * go after the late files that were merged with them, by which repair
	 * knows that these were. */
	for (size_t i = c->n_gone; i-- > 0 && e == NULL;)
		unlinkat(w->dir, c->gone[i], 0);
	return e;
}

void
work_path(const struct store_writer *w, const char *name, char *path,
    size_t size)
{
	snprintf(path, size, "%s/%s", w->path, name);
}

/* Builds the file that f names. */
static const struct err *
work_build_named(struct store_writer *w, struct change *c,
    struct manifest_file *f, const struct sealed_meta *meta,
    const struct seal_source *sources, size_t n)
{
	char temporary[4200], path[4200];
	struct seal_result result;
	const struct err *e;
	struct stat st;

	work_path(w, "building.tmp", temporary, sizeof(temporary));
	work_path(w, f->name, path, sizeof(path));
	unlink(temporary);
	/* Left by a crash it lets Berkeley DB wait for a minute and more. */
	unlinkat(w->dir, "__db.building.tmp", 0);
	e = seal_build(temporary, meta, sources, n, &result);
	if (e != NULL || (result.blocks == 0 && result.facts == 0)) {
		unlink(temporary);
		return e;
	}
	if ((e = work_made(c, f->name)) != NULL) {
		unlink(temporary);
		return e;
	}
	if (stat(temporary, &st) != 0 || rename(temporary, path) != 0)
		return err_errno("%s", path);
	f->since = result.since;
	f->until = result.until;
	f->bytes = (uint64_t)st.st_size;
	f->names = result.names;
	if (f->kind == MANIFEST_LATE) {
		memcpy(f->of, result.of, sizeof(f->of));
		c->late_blocks += result.blocks;
	}
	return manifest_add(&c->next, f);
}

const struct err *
work_build(struct store_writer *w, struct change *c, enum manifest_kind kind,
    const struct sealed_meta *meta, const struct seal_source *sources,
    size_t n)
{
	static const char *const words[] = {"span", "late", "summary"};
	struct manifest_file f = {.kind = kind, .level = meta->top,
	    .first = meta->first, .slots = meta->slots};
	struct sealed_meta own = *meta;

	own.number = ++w->sequence;
	snprintf(f.name, sizeof(f.name), "%s-%u-%" PRIu64 "-%" PRIu64 ".mdb",
	    words[kind], meta->top, meta->first, own.number);
	return work_build_named(w, c, &f, &own, sources, n);
}

const struct err *
work_build_part(struct store_writer *w, struct change *c, uint64_t of,
    const struct sealed_meta *meta, const struct seal_source *source)
{
	struct manifest_file f = {.kind = MANIFEST_LATE, .level = meta->top,
	    .first = meta->first, .slots = meta->slots};
	struct sealed_meta own = *meta;

	own.number = ++w->sequence;
	snprintf(f.name, sizeof(f.name), MANIFEST_APART "%u-%" PRIu64
	    "-%" PRIu64 "-%" PRIu64 ".mdb", meta->top, meta->first, of,
	    own.number);
	return work_build_named(w, c, &f, &own, source, 1);
}

struct sealed_meta
work_meta(const struct store_writer *w, uint64_t first, unsigned level)
{
	return (struct sealed_meta){.slot_ns = w->options.slot_ns,
	    .first = first, .slots = seg_slots(level), .base = 0,
	    .top = level};
}

bool
work_inside(const struct manifest_file *f, uint64_t first, uint64_t slots)
{
	return f->first >= first && f->first + f->slots <= first + slots;
}

bool
work_overlaps(const struct manifest_file *f, uint64_t first, uint64_t slots)
{
	return f->first < first + slots && first < f->first + f->slots;
}

const struct err *
work_open_input(struct store_writer *w, struct inputs *in,
    const struct manifest_file *f, uint64_t from, uint64_t until, bool facts)
{
	struct seal_source *s = &in->sources[in->n];
	char path[4200];
	const struct err *e;

	*s = (struct seal_source){.from = from, .until = until,
	    .facts = facts};
	work_path(w, f->name, path, sizeof(path));
	snprintf(in->names[in->n_names++], MANIFEST_NAME, "%s", f->name);
	e = sealed_open(&s->file, path);
	if (e != NULL)
		return e;
	if ((e = sealed_check(s->file, w->dir, f)) != NULL)
		sealed_close(s->file);
	else
		in->n++;
	return e;
}

void
work_close_inputs(
    struct store_writer *w, struct inputs *in, const struct err *e)
{
	while (in->n > 0) {
		sealed_close(in->sources[--in->n].file);
		loud_fini(&in->loud[in->n]);
	}
	if (e != NULL)
		work_find_damage(w, in, e);
}
