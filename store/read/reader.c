/*
 * The reader: keeps up with the manifest and opens sealed files on demand.
 */
#include "store/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/file/format.h"
#include "store/file/lock.h"

#define READER_LIMIT (256u << 20)
#define READER_SPARE (48u << 20) /* kept beside that for the next question */
#define READER_BREAKS 8 /* tries of a file that seems damaged */
#define READER_TRIES 10 /* of a manifest that changes under us */

bool
reader_is_current(const struct store *s, uint64_t generation)
{
	uint64_t now;

	return manifest_generation(s->dir, &now) == NULL && now == generation;
}

/* ---- files ---- */

const struct err *
reader_failed(struct store *s, struct reader_file *f, const struct err *e)
{
	if (e->domain == ERR_REQUEST) /* refused, or nobody waits */
		return e;
	reader_close_file(f);
	f->gone = e->code == ENOENT && reader_is_current(s,
	    s->manifest.generation);
	if ((e->code == ENOENT && !f->gone) || e->code == ENOMEM ||
	    e->code == EMFILE || e->code == ENFILE)
		return e;
	log_warn("store: %s: left out: %s", f->entry.name, e->text);
	f->broken = true;
	f->breaks += e->code != EACCES; /* which is no damage */
	s->breaks++;
	return NULL;
}

/* ---- keeping up ---- */

/* Takes what is open over to the new list; the rest is closed. */
static const struct err *
reader_adopt_files(struct store *s, const struct manifest *m)
{
	struct reader_file *files = calloc(m->n + 1, sizeof(*files));
	uint32_t n = 0;

	if (files == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *entry = &m->files[i];

		if (entry->kind == MANIFEST_JOURNAL ||
		    entry->kind == MANIFEST_IDS)
			continue;
		for (uint32_t k = 0; k < s->n_files; k++) {
			if (strcmp(s->files[k].entry.name, entry->name) != 0)
				continue;
			files[n] = s->files[k];
			s->files[k] = (struct reader_file){0};
		}
		files[n].broken = files[n].breaks >= READER_BREAKS;
		files[n++].entry = *entry;
	}
	for (uint32_t k = 0; k < s->n_files; k++)
		reader_close_file(&s->files[k]);
	free(s->files);
	s->files = files;
	s->n_files = n;
	return NULL;
}

/* All that was given numbers.  What the journals hold is known still. */
static void
reader_forget(struct store *s)
{
	for (uint32_t i = 0; i < s->n_files; i++)
		reader_close_file(&s->files[i]);
	for (uint32_t i = 0; i < s->n_journals; i++)
		openspan_forget(&s->journals[i]->span);
	merged_tree_fini(&s->shown);
	merged_tree_fini(&s->by_module);
	scratch_fini(&s->scratch);
	symtab_fini(&s->syms);
	roster_fini(&s->roster);
	free(s->sorted);
	s->sorted = NULL;
	s->n_sorted = s->cap_sorted = 0;
	s->names = s->greediest = s->question = 0;
	s->refused = false;
}

/*
 * Between requests.  When it is the symbols that take the memory, they begin
 * anew; but not where one question alone needs that many, since the next is
 * like it: what helps nobody would make each of them cold.
 */
static void
reader_shrink(struct store *s)
{
	size_t names = reader_names_bytes(s), most = s->limit / 4 * 3;

	if (names > s->names + s->greediest)
		s->greediest = names - s->names;
	s->names = names;
	reader_drop_windows(s);
	reader_make_room(s);
	if (names > most && names > 2 * s->greediest)
		reader_forget(s);
}

void
store_forget(struct store *s)
{
	reader_forget(s);
}

bool
reader_is_over(const struct store *s)
{
	return reader_kept_bytes(s) > s->limit + READER_SPARE;
}

bool
store_rest(struct store *s)
{
	if (!s->refused && !reader_is_over(s))
		return false;
	reader_forget(s);
	return true;
}

size_t
store_bytes(const struct store *s)
{
	return reader_bytes(s);
}

const struct err *
reader_need(struct store *s, struct reader_file *f)
{
	char path[4200];
	const struct err *e;

	if (f->used != s->requests)
		f->before = f->used;
	f->used = s->requests;
	if (f->sealed != NULL || f->broken)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", s->path, f->entry.name);
	e = sealed_open_nameless(&f->sealed, path);
	if (e == NULL && f->sealed->meta.slot_ns != s->manifest.slot_ns)
		e = err_new(ERR_FORMAT, 0, "another slot length");
	if (e == NULL)
		e = sealed_check(f->sealed, s->dir, &f->entry);
	if (e == NULL)
		e = reader_take_index(s, f);
	if (e == NULL)
		return NULL;
	reader_close_file(f); /* also where nobody waits any more */
	return reader_failed(s, f, e);
}

/* Loads the manifest when it is another one. */
static const struct err *
reader_load_manifest(struct store *s)
{
	const struct err *e;
	struct manifest m;
	uint64_t generation;

	if ((e = manifest_generation(s->dir, &generation)) != NULL)
		return err_wrap(e, "%s", s->path);
	if (s->loaded && generation == s->manifest.generation)
		return NULL;
	if ((e = manifest_load(&m, s->dir)) != NULL)
		return err_wrap(e, "%s", s->path);
	if (m.generation < s->manifest.generation) {
		manifest_fini(&m);
		return err_new(ERR_FORMAT, 0,
		    "%s: the manifest went back in time", s->path);
	}
	e = reader_adopt_journals(s, &m);
	if (e == NULL)
		e = reader_adopt_files(s, &m);
	if (e != NULL) {
		manifest_fini(&m);
		return e;
	}
	manifest_fini(&s->manifest);
	s->manifest = m;
	s->loaded = true;
	return NULL;
}

const struct err *
store_refresh(struct store *s)
{
	const struct err *e = NULL;

	reader_measure(s);
	s->requests++;
	reader_shrink(s);
	if (s->syms.n_nodes == 0 && (e = symtab_init(&s->syms)) != NULL)
		return e;
	s->syms.roots = s->roots;
	for (int i = 0; i < READER_TRIES; i++) {
		e = reader_load_manifest(s);
		if (e == NULL || e->code != ENOENT)
			break;
	}
	return e == NULL ? reader_follow_journals(s) : e;
}

void
store_bound_nodes(struct store *s, uint32_t most)
{
	s->most_nodes = most;
}

static const struct err *
reader_open(struct store **out, const char *dir, size_t cache_bytes,
    bool roots)
{
	struct store *s = calloc(1, sizeof(*s));
	const struct err *e;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->limit = cache_bytes ? cache_bytes : READER_LIMIT;
	s->most_nodes = UINT32_MAX;
	s->roots = roots;
	s->path = strdup(dir);
	s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->path == NULL)
		e = err_nomem();
	else if (s->dir < 0)
		e = err_errno("%s", dir);
	else
		e = store_refresh(s);
	if (e != NULL)
		store_close(s);
	else
		*out = s;
	return e;
}

const struct err *
store_open(struct store **out, const char *dir, size_t cache_bytes)
{
	return reader_open(out, dir, cache_bytes, false);
}

const struct err *
store_open_labels(struct store **out, const struct store *like)
{
	return reader_open(out, like->path, like->limit, true);
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	reader_forget(s);
	reader_close_journals(s);
	free(s->files);
	manifest_fini(&s->manifest);
	if (s->dir >= 0)
		close(s->dir);
	free(s->path);
	free(s);
}

/* ---- what there is ---- */

uint64_t
store_written(const struct store *s)
{
	uint64_t h = hash64_u64(s->manifest.generation,
	    s->damaged + s->breaks);

	for (uint32_t i = 0; i < s->n_journals; i++)
		h = hash64_u64(h, s->journals[i]->reader.offset);
	return h;
}

void
reader_bounds(const struct store *s, uint64_t *from, uint64_t *until)
{
	*from = UINT64_MAX;
	*until = 0;
	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct manifest_file *f = &s->files[i].entry;

		if (f->until == 0)
			continue;
		if (f->since < *from)
			*from = f->since;
		if (f->until > *until)
			*until = f->until;
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		const struct openspan *o = &s->journals[i]->span;

		if (o->until_slot == 0)
			continue;
		if (o->first_slot < *from)
			*from = o->first_slot;
		if (o->until_slot > *until)
			*until = o->until_slot;
	}
	if (*until == 0)
		*from = 0;
}

/* The list of ids that somebody has taken away; NULL: none.  Nobody but a
 * writer that starts needs it, so no question meets that it is not there. */
static const char *
reader_lost_ids(const struct store *s)
{
	uint64_t generation;

	for (uint32_t i = 0; i < s->manifest.n; i++) {
		const struct manifest_file *f = &s->manifest.files[i];

		if (f->kind == MANIFEST_IDS &&
		    faccessat(s->dir, f->name, F_OK, 0) != 0 &&
		    errno == ENOENT &&
		    manifest_generation(s->dir, &generation) == NULL &&
		    generation == s->manifest.generation)
			return f->name;
	}
	return NULL;
}

/* Slots [from, until) of what is stored. */
struct held {
	uint64_t from, until;
};

static int
held_compare(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Where the spans of a file are gone, its summary holds them. */
static size_t
reader_list_held(const struct store *s, struct held *list)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct manifest_file *f = &s->files[i].entry;
		uint64_t until = f->until;

		if (f->kind == MANIFEST_SUMMARY &&
		    until > s->manifest.fine_from)
			until = s->manifest.fine_from;
		list[n++] = (struct held){f->since, until};
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		const struct openspan *o = &s->journals[i]->span;

		for (uint32_t k = 0; k < o->n_slots; k++)
			list[n++] = (struct held){o->slots[k].slot,
			    o->slots[k].slot + 1};
	}
	return n;
}

/* One old sample is not all the slots since; 0: out of memory. */
static uint64_t
reader_slots(const struct store *s)
{
	uint64_t slots = 0, end = 0;
	size_t n = s->n_files;
	struct held *list;

	for (uint32_t i = 0; i < s->n_journals; i++)
		n += s->journals[i]->span.n_slots;
	list = malloc((n + 1) * sizeof(*list));
	n = list != NULL ? reader_list_held(s, list) : 0;
	if (n > 0)
		qsort(list, n, sizeof(*list), held_compare);
	for (size_t i = 0; i < n; i++) {
		uint64_t from = list[i].from > end ? list[i].from : end;

		if (list[i].until <= from)
			continue;
		slots += list[i].until - from;
		end = list[i].until;
	}
	free(list);
	return slots;
}

void
store_extent(const struct store *s, struct store_extent *e)
{
	const char *ids = reader_lost_ids(s);
	uint64_t from, until;

	reader_bounds(s, &from, &until);
	*e = (struct store_extent){.slot_ns = s->manifest.slot_ns,
	    .from_ns = (int64_t)from * s->manifest.slot_ns,
	    .until_ns = (int64_t)until * s->manifest.slot_ns,
	    .slots = reader_slots(s),
	    .files = s->n_files,
	    .journals = s->n_journals,
	    .damaged = s->damaged + s->manifest.n_gaps,
	    .generation = s->manifest.generation,
	    .writer = reader_sees_writer(s)};
	e->idle_ns = e->writer ? lock_idle(s->dir) : -1;
	if (e->writer)
		e->state = lock_state(s->dir, e->why, sizeof(e->why));
	e->damaged += ids != NULL;
	if (ids != NULL && e->why[0] == '\0')
		snprintf(e->why, sizeof(e->why), "%s is missing: after a "
		    "restart of the collector, batches of before that are sent "
		    "again may count twice", ids);
	for (uint32_t i = 0; i < s->n_files; i++) {
		e->bytes += s->files[i].entry.bytes;
		e->damaged += s->files[i].broken;
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		e->bytes += s->journals[i]->reader.offset;
		e->damaged += s->journals[i]->torn +
		    (s->journals[i]->lost != NULL);
	}
}

/* The last border of what is kept at or before a time. */
static int64_t
kept_border(const struct store *s, int64_t time_ns)
{
	uint64_t slot = reader_slot(s, time_ns);

	if (slot >= s->manifest.fine_from)
		return time_ns;
	return (int64_t)seg_align(slot, FORMAT_SPAN_LEVEL) *
	    s->manifest.slot_ns;
}

bool
store_kept_range(const struct store *s, int64_t *from_ns, int64_t *until_ns)
{
	int64_t from = *from_ns, until = *until_ns;

	if (from >= until)
		return false;
	*from_ns = kept_border(s, from);
	*until_ns = kept_border(s, until);
	if (*until_ns < until) /* a part of this one was asked for */
		*until_ns += (int64_t)seg_slots(FORMAT_SPAN_LEVEL) *
		    s->manifest.slot_ns;
	return *from_ns != from || *until_ns != until;
}

uint64_t
store_tag(const struct store *s, int64_t from_ns, int64_t until_ns,
    bool *closed)
{
	uint64_t from = reader_slot(s, from_ns);
	uint64_t until = reader_slot(s, until_ns + s->manifest.slot_ns - 1);
	uint64_t h = hash64_u64(from, until), first, last;

	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct manifest_file *f = &s->files[i].entry;

		if (f->first < until && from < f->first + f->slots)
			h = hash64(h, f->name, strlen(f->name));
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		const struct reader_journal *j = s->journals[i];

		for (uint32_t k = 0; k < j->span.n_slots; k++) {
			const struct open_slot *x = &j->span.slots[k];

			if (x->slot < from || x->slot >= until)
				continue;
			h = hash64(h, j->name, strlen(j->name));
			h = hash64_u64(hash64_u64(h, x->slot), x->blocks);
		}
	}
	reader_bounds(s, &first, &last);
	*closed = until <= last;
	return h;
}
