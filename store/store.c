/*
 * The reader: keeps up with the manifest, opens sealed files on demand and
 * follows the journals.
 */
#include "reader.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"
#include "segtree.h"

#define READER_LIMIT (256u << 20)
#define READER_BREAKS 8 /* tries of a file that seems damaged */
#define READER_TRIES 10 /* of a manifest that changes under us */

/* What this manifest names and is not there is missing; what an older one
 * names the writer may have replaced. */
static bool
reader_is_current(const struct store *s, uint64_t generation)
{
	uint64_t now;

	return manifest_generation(s->dir, &now) == NULL && now == generation;
}

/* ---- files ---- */

const struct err *
reader_failed(struct store *s, struct reader_file *f, const struct err *e)
{
	reader_close_file(f);
	f->gone = e->code == ENOENT && reader_is_current(s,
	    s->manifest.generation);
	if ((e->code == ENOENT && !f->gone) || e->code == ENOMEM || e->code == EMFILE ||
	    e->code == ENFILE)
		return e;
	log_warn("store: %s: left out: %s", f->entry.name, e->text);
	f->broken = true;
	f->breaks += e->code != EACCES; /* which is no damage */
	s->breaks++;
	return NULL;
}

/* Takes over what the file calls things, in the reader's numbers. */
static const struct err *
reader_take_names(struct store *s, struct reader_file *f,
    struct symtab_map *map)
{
	struct sealed *d = f->sealed;

	f->n_series = s->syms.series.n;
	f->stack_nodes = malloc((d->n_stacks + 1) * sizeof(*f->stack_nodes));
	f->series = malloc((f->n_series + 1) * sizeof(*f->series));
	if (f->stack_nodes == NULL || f->series == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < d->n_stacks; i++)
		f->stack_nodes[i] = map->nodes[d->stack_nodes[i]];
	memset(f->series, 0xff, (f->n_series + 1) * sizeof(*f->series));
	for (uint32_t i = 0; i < d->dict->n_series; i++)
		f->series[map->series[i]] = i;
	f->facts_known = true;
	f->fact_kinds = 0;
	for (size_t i = 0; i < d->dict->n_facts; i++) {
		struct batch_fact *fact = &d->dict->facts[i];

		f->fact_kinds |= 1u << (fact->kind & 31);
		fact->subject = map->strings[fact->subject];
	}
	f->symbols = map->series;
	map->series = NULL;
	sealed_drop_names(d);
	return NULL;
}

static const struct err *
reader_map_file(struct store *s, struct reader_file *f)
{
	struct symtab_map map = {0};
	const struct err *e = symtab_add(&s->syms, f->sealed->dict, &map);

	if (e == NULL)
		e = reader_take_names(s, f, &map);
	symtab_map_fini(&map);
	return e;
}

uint32_t
reader_series(const struct reader_file *f, uint32_t series)
{
	return f->series != NULL && series < f->n_series ? f->series[series]
	                                                 : INTERN_NONE;
}

/* ---- journals ---- */

static void
reader_close_journal(struct reader_journal *j)
{
	if (j == NULL)
		return;
	if (j->reader.fd >= 0)
		close(j->reader.fd);
	journal_reader_fini(&j->reader);
	memspan_fini(&j->span);
	free(j);
}

static const struct err *
reader_open_journal(struct store *s, const char *name, uint64_t generation,
    struct reader_journal **out)
{
	struct reader_journal *j = calloc(1, sizeof(*j));

	*out = NULL;
	if (j == NULL)
		return err_nomem();
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->reader.offset = JOURNAL_HEADER;
	j->reader.journal = true;
	j->span.syms = &s->syms;
	j->reader.fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC);
	if (j->reader.fd < 0) {
		const struct err *e = err_errno("%s/%s", s->path, name);

		j->gone = e->code == ENOENT &&
		    reader_is_current(s, generation);
		if (!j->gone) {
			reader_close_journal(j);
			return e;
		}
	}
	*out = j;
	return NULL;
}

/* Its first slot is known once something was written. */
static const struct err *
reader_begin_journal(struct reader_journal *j)
{
	uint64_t first;
	bool empty;
	const struct err *e = journal_first(j->reader.fd, &first, &empty);

	if (e != NULL && e->domain != ERR_FORMAT)
		return e;
	if (e == NULL && !empty)
		gaps_begin(&j->gaps, first);
	return NULL;
}

static const struct err *
reader_follow_journal(struct store *s, struct reader_journal *j)
{
	uint64_t damaged = j->reader.damaged, lost = j->reader.names.lost;
	size_t before = j->span.n_blocks;
	const struct err *e = NULL;
	struct batch *b;

	if (j->gone)
		return NULL;
	if (j->reader.offset == JOURNAL_HEADER)
		e = reader_begin_journal(j);
	while (e == NULL) {
		e = journal_next(&j->reader, &b);
		if (e != NULL || b == NULL)
			break;
		e = memspan_add(&j->span, b, &j->reader.names);
		if (e != NULL)
			j->reader.offset = j->reader.last;
		else
			gaps_take(&j->gaps, b, j->reader.damaged +
			    j->reader.names.lost);
		batch_free(b);
	}
	s->damaged += j->reader.damaged - damaged +
	    (j->reader.names.lost > lost);
	for (size_t i = before; i < j->span.n_blocks; i++) {
		uint64_t slot = j->span.blocks[i].numbers.start;

		if (j->until_slot == 0 || slot < j->first_slot)
			j->first_slot = slot;
		if (slot >= j->until_slot)
			j->until_slot = slot + 1;
	}
	return e;
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

static struct reader_journal *
reader_take_journal(struct store *s, const char *name)
{
	for (uint32_t k = 0; k < s->n_journals; k++) {
		struct reader_journal *j = s->journals[k];

		if (j != NULL && strcmp(j->name, name) == 0) {
			s->journals[k] = NULL;
			return j;
		}
	}
	return NULL;
}

static const struct err *
reader_adopt_journals(struct store *s, const struct manifest *m)
{
	struct reader_journal **journals = calloc(m->n + 1, sizeof(*journals));
	const struct err *e = NULL;
	uint32_t n = 0;

	if (journals == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < m->n && e == NULL; i++) {
		const char *name = m->files[i].name;

		if (m->files[i].kind != MANIFEST_JOURNAL)
			continue;
		journals[n] = reader_take_journal(s, name);
		if (journals[n] == NULL)
			e = reader_open_journal(s, name, m->generation,
			    &journals[n]);
		n += journals[n] != NULL;
	}
	for (uint32_t k = 0; k < s->n_journals; k++)
		reader_close_journal(s->journals[k]);
	free(s->journals);
	s->journals = journals;
	s->n_journals = n;
	return e;
}

static void
reader_forget(struct store *s)
{
	for (uint32_t i = 0; i < s->n_files; i++)
		reader_close_file(&s->files[i]);
	for (uint32_t i = 0; i < s->n_journals; i++)
		reader_close_journal(s->journals[i]);
	free(s->files);
	free(s->journals);
	s->files = NULL;
	s->journals = NULL;
	s->n_files = s->n_journals = 0;
	shown_fini(&s->shown);
	scratch_fini(&s->scratch);
	symtab_fini(&s->syms);
	s->loaded = false;
}

/* Between requests.  When it is the symbols that take the memory, or the
 * journals, all begins anew. */
static void
reader_shrink(struct store *s)
{
	size_t names = symtab_bytes(&s->syms) + shown_bytes(&s->shown) +
	    scratch_bytes(&s->scratch);

	if (names > s->limit / 4 * 3 || !reader_make_room(s, 0))
		reader_forget(s);
}

const struct err *
reader_need(struct store *s, struct reader_file *f)
{
	char path[4200];
	const struct err *e;

	f->used = s->requests;
	if (f->sealed != NULL || f->broken)
		return NULL;
	reader_make_room(s, f->entry.bytes / 2); /* about */
	snprintf(path, sizeof(path), "%s/%s", s->path, f->entry.name);
	e = sealed_open(&f->sealed, path);
	if (e == NULL && f->sealed->meta.slot_ns != s->manifest.slot_ns)
		e = err_new(ERR_FORMAT, 0, "another slot length");
	if (e != NULL)
		return reader_failed(s, f, e);
	e = reader_map_file(s, f);
	if (e != NULL)
		reader_close_file(f);
	return e;
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

/* Asks for the writer's lock without taking it.  Who may not ask believes
 * that there is one. */
static bool
reader_sees_writer(const struct store *s)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = openat(s->dir, "lock", O_RDONLY | O_CLOEXEC);
	bool seen = fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) != 0 ||
	    lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return seen;
}

uint64_t
reader_journal_until(const struct store *s, uint32_t i)
{
	const struct reader_journal *j = s->journals[i];
	uint64_t until = j->gaps.first + seg_slots(FORMAT_SEAL_LEVEL);

	for (uint32_t k = i + 1; k < s->n_journals; k++) {
		const struct reader_journal *next = s->journals[k];

		if (next->until_slot != 0 &&
		    next->first_slot >= j->gaps.home &&
		    next->first_slot < until)
			until = next->first_slot + 1;
	}
	return until;
}

/*
 * Part of a record at the end may be being written, but not where nobody
 * writes, or writes to a later journal: something was lost there.
 */
static void
reader_judge_ends(struct store *s)
{
	bool later = false;

	for (uint32_t i = s->n_journals; i-- > 0;) {
		struct reader_journal *j = s->journals[i];
		struct stat st;

		j->torn = fstat(j->reader.fd, &st) == 0 &&
		    (uint64_t)st.st_size > j->reader.offset &&
		    (later || !reader_sees_writer(s));
		j->torn_until = reader_journal_until(s, i);
		later |= j->reader.offset > JOURNAL_HEADER;
	}
}

const struct err *
store_refresh(struct store *s)
{
	const struct err *e = NULL;

	s->requests++;
	reader_shrink(s);
	if (s->syms.n_nodes == 0 && (e = symtab_init(&s->syms)) != NULL)
		return e;
	for (int i = 0; i < READER_TRIES; i++) {
		e = reader_load_manifest(s);
		if (e == NULL || e->code != ENOENT)
			break;
	}
	for (uint32_t i = 0; i < s->n_journals && e == NULL; i++)
		e = reader_follow_journal(s, s->journals[i]);
	if (e == NULL)
		reader_judge_ends(s);
	return e;
}

const struct err *
store_open(struct store **out, const char *dir, size_t cache_bytes)
{
	struct store *s = calloc(1, sizeof(*s));
	const struct err *e;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->limit = cache_bytes ? cache_bytes : READER_LIMIT;
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

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	reader_forget(s);
	manifest_fini(&s->manifest);
	if (s->dir >= 0)
		close(s->dir);
	free(s->path);
	free(s);
}

/* ---- what there is ---- */

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
		const struct reader_journal *j = s->journals[i];

		if (j->until_slot == 0)
			continue;
		if (j->first_slot < *from)
			*from = j->first_slot;
		if (j->until_slot > *until)
			*until = j->until_slot;
	}
	if (*until == 0)
		*from = 0;
}

void
store_extent(const struct store *s, struct store_extent *e)
{
	uint64_t from, until;

	reader_bounds(s, &from, &until);
	*e = (struct store_extent){.slot_ns = s->manifest.slot_ns,
	    .from_ns = (int64_t)from * s->manifest.slot_ns,
	    .until_ns = (int64_t)until * s->manifest.slot_ns,
	    .files = s->n_files,
	    .journals = s->n_journals,
	    .damaged = s->damaged,
	    .generation = s->manifest.generation,
	    .writer = reader_sees_writer(s)};
	if (e->writer)
		e->state = store_said_state(s->dir, e->why, sizeof(e->why));
	for (uint32_t i = 0; i < s->n_files; i++) {
		e->bytes += s->files[i].entry.bytes;
		e->damaged += s->files[i].broken;
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		e->bytes += s->journals[i]->reader.offset;
		e->damaged += s->journals[i]->torn + s->journals[i]->gone;
	}
}

int64_t
reader_kept_border(const struct store *s, int64_t time_ns)
{
	uint64_t slot = reader_slot(s, time_ns);

	if (slot >= s->manifest.fine_from)
		return time_ns;
	return (int64_t)seg_align(slot, 6) * s->manifest.slot_ns;
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

		for (size_t k = 0; k < j->span.n_blocks; k++) {
			uint64_t slot = j->span.blocks[k].numbers.start;

			if (slot >= from && slot < until)
				h = hash64_u64(h, k ^ i << 24);
		}
	}
	reader_bounds(s, &first, &last);
	*closed = until <= last;
	return h;
}
