/*
 * From pprof's messages to stacks.  protobuf-c has checked the wire; here
 * every number is checked that refers to something.
 */
#include "pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "gzip.h"
#include "pprof.pb-c.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/intern.h"

#define MAX_BYTES (64u << 20)
#define COLUMNS_MAX STACKS_TYPES_MAX

/* Ids to positions: most writers count from 1. */
struct ids {
	struct map64 map;
	size_t n;
	bool dense;
};

/* The frames of a location, root first: frames[first...]. */
struct place {
	uint32_t first, n;
};

struct reader {
	struct stacks *s;
	const Pprof__Profile *p;
	const struct pprof_options *o;
	struct arena *arena;
	struct ids mappings, functions, locations;
	struct place *places;
	uint32_t *frames;
	uint32_t types[COLUMNS_MAX]; /* of the stacks */
	int64_t periods[COLUMNS_MAX];
	uint64_t numeric, requests, unnamed; /* left out */
	/* the last sample: what it shares with the next need not be sought */
	const Pprof__Sample *last;
	uint32_t *path; /* nodes after each location of it, root first */
	size_t n_path, cap_path;
	uint32_t last_top;
};

static const struct err *
pprof_bad(const char *what, size_t i, const char *why)
{
	return err_new(ERR_REQUEST, 422, "pprof: %s %zu: %s", what, i, why);
}

/* ---- ids ---- */

static const struct err *
ids_add(struct ids *ids, uint64_t id, const char *what)
{
	if (ids->dense && id == ids->n + 1) {
		ids->n++;
		return NULL;
	}
	if (ids->dense) {
		for (size_t i = 0; i < ids->n; i++)
			if (!map64_add(&ids->map, i + 1, (uint32_t)i))
				return err_nomem();
		ids->dense = false;
	}
	if (map64_get(&ids->map, id) != INTERN_NONE)
		return pprof_bad(what, ids->n, "its id is another's too");
	if (!map64_add(&ids->map, id, (uint32_t)ids->n))
		return err_nomem();
	ids->n++;
	return NULL;
}

static uint32_t
ids_find(const struct ids *ids, uint64_t id)
{
	if (ids->dense)
		return id - 1 < ids->n ? (uint32_t)(id - 1) : INTERN_NONE;
	return map64_get(&ids->map, id);
}

static const struct err *
reader_ids(struct reader *r)
{
	const struct err *e = NULL;

	r->mappings.dense = r->functions.dense = r->locations.dense = true;
	for (size_t i = 0; i < r->p->n_mapping && e == NULL; i++)
		e = ids_add(&r->mappings, r->p->mapping[i]->id, "mapping");
	for (size_t i = 0; i < r->p->n_function && e == NULL; i++)
		e = ids_add(&r->functions, r->p->function[i]->id, "function");
	for (size_t i = 0; i < r->p->n_location && e == NULL; i++)
		e = ids_add(&r->locations, r->p->location[i]->id, "location");
	return e;
}

static const struct err *
reader_str(const struct reader *r, int64_t i, const char **text)
{
	if (i < 0 || (uint64_t)i >= r->p->n_string_table) {
		if (i == 0) { /* an empty table, and nothing is said */
			*text = "";
			return NULL;
		}
		return err_new(ERR_REQUEST, 422, "pprof: string %lld is not "
		    "among %zu", (long long)i, r->p->n_string_table);
	}
	*text = r->p->string_table[i];
	return NULL;
}

/* ---- frames ---- */

struct module {
	const char *name, *build_id;
	uint64_t start, offset;
	bool native;
};

static const struct err *
reader_module(const struct reader *r, const Pprof__Location *l,
    struct module *m)
{
	const Pprof__Mapping *mapping;
	const struct err *e;
	const char *slash;
	uint32_t at;

	*m = (struct module){"", "", 0, 0, false};
	if (l->mapping_id == 0)
		return NULL;
	at = ids_find(&r->mappings, l->mapping_id);
	if (at == INTERN_NONE)
		return pprof_bad("location", (size_t)l->id,
		    "its mapping is not there");
	mapping = r->p->mapping[at];
	if ((e = reader_str(r, mapping->filename, &m->name)) != NULL ||
	    (e = reader_str(r, mapping->build_id, &m->build_id)) != NULL)
		return e;
	if ((slash = strrchr(m->name, '/')) != NULL && slash[1] != '\0')
		m->name = slash + 1;
	m->start = mapping->memory_start;
	m->offset = mapping->file_offset;
	m->native = m->name[0] != '\0' || m->build_id[0] != '\0';
	return NULL;
}

/* What no function is known of. */
static uint32_t
reader_address(struct reader *r, const Pprof__Location *l,
    const struct module *m)
{
	char name[320];
	struct frame f = {FRAME_ADDRESS, name, m->name, m->build_id, 0};

	if (m->native && l->address >= m->start) {
		f.offset = l->address - m->start + m->offset;
		snprintf(name, sizeof(name), "%.256s+0x%llx", m->name,
		    (unsigned long long)f.offset);
	} else if (l->address != 0) {
		f.offset = l->address;
		snprintf(name, sizeof(name), "0x%llx",
		    (unsigned long long)l->address);
	} else {
		snprintf(name, sizeof(name), "[unknown]");
	}
	return stacks_frame(r->s, &f);
}

/* rbspy and pyspy name a function alone; its file tells modules apart. */
static const struct err *
reader_name(const struct reader *r, const Pprof__Function *fn, char *name,
    size_t size)
{
	const char *own, *file;
	const struct err *e;

	if ((e = reader_str(r, fn->name, &own)) != NULL ||
	    (e = reader_str(r, fn->filename, &file)) != NULL)
		return e;
	if (own[0] == '\0')
		e = reader_str(r, fn->system_name, &own);
	if (e == NULL && r->o->file_names && file[0] != '\0' && file[0] != '/')
		snprintf(name, size, "%s %s", file, own);
	else if (e == NULL)
		snprintf(name, size, "%s", own);
	return e;
}

static const struct err *
reader_line(struct reader *r, const Pprof__Line *line, const struct module *m,
    bool inlined, struct place *at)
{
	uint32_t fn = ids_find(&r->functions, line->function_id);
	struct frame f = {FRAME_MANAGED, NULL, m->name, m->build_id, 0};
	char name[4096];
	const struct err *e;

	if (fn == INTERN_NONE && line->function_id != 0)
		return err_new(ERR_REQUEST, 422, "pprof: function %llu is not "
		    "there", (unsigned long long)line->function_id);
	if (fn == INTERN_NONE) {
		r->unnamed++;
		return NULL;
	}
	e = reader_name(r, r->p->function[fn], name, sizeof(name));
	if (e != NULL || name[0] == '\0') {
		r->unnamed += e == NULL;
		return e;
	}
	if (inlined)
		f.kind = FRAME_INLINED;
	else if (m->native)
		f.kind = FRAME_NATIVE;
	f.name = name;
	r->frames[at->first + at->n++] = stacks_frame(r->s, &f);
	return NULL;
}

static const struct err *
reader_location(struct reader *r, size_t i, uint32_t *used)
{
	const Pprof__Location *l = r->p->location[i];
	struct place *at = &r->places[i];
	const struct err *e;
	struct module m;

	*at = (struct place){*used, 0};
	if ((e = reader_module(r, l, &m)) != NULL)
		return e;
	for (size_t k = l->n_line; k-- > 0;)
		if ((e = reader_line(r, l->line[k], &m, k + 1 < l->n_line,
		    at)) != NULL)
			return e;
	if (at->n == 0)
		r->frames[at->first + at->n++] = reader_address(r, l, &m);
	*used += at->n;
	return NULL;
}

static const struct err *
reader_locations(struct reader *r)
{
	const struct err *e = NULL;
	size_t lines = r->p->n_location;
	uint32_t used = 0;

	for (size_t i = 0; i < r->p->n_location; i++)
		lines += r->p->location[i]->n_line;
	r->places = arena_alloc(r->arena,
	    (r->p->n_location + 1) * sizeof(*r->places));
	r->frames = arena_alloc(r->arena, (lines + 1) * sizeof(*r->frames));
	if (r->places == NULL || r->frames == NULL || lines > UINT32_MAX)
		return err_nomem();
	for (size_t i = 0; i < r->p->n_location && e == NULL; i++)
		e = reader_location(r, i, &used);
	return e != NULL ? e : stacks_error(r->s);
}

/* ---- types ---- */

static const struct pprof_config *
reader_config(const struct reader *r, const char *type)
{
	for (size_t i = 0; i < r->o->n_configs; i++)
		if (strcmp(r->o->configs[i].type, type) == 0)
			return &r->o->configs[i];
	return NULL;
}

static bool
reader_is_multiple(const struct reader *r, size_t column, int64_t period)
{
	for (size_t i = 0; i < r->p->n_sample; i++) {
		const Pprof__Sample *sample = r->p->sample[i];

		if (column < sample->n_value &&
		    sample->value[column] % period != 0)
			return false;
	}
	return true;
}

static const struct err *
reader_column(const struct reader *r, size_t i, struct pprof_column *c)
{
	const Pprof__ValueType *t = r->p->sample_type[i];
	const Pprof__ValueType *period = r->p->period_type;
	const struct err *e;

	c->period_type = c->period_unit = "";
	if ((e = reader_str(r, t->type, &c->type)) != NULL ||
	    (e = reader_str(r, t->unit, &c->unit)) != NULL)
		return e;
	if (period != NULL &&
	    ((e = reader_str(r, period->type, &c->period_type)) != NULL ||
	    (e = reader_str(r, period->unit, &c->period_unit)) != NULL))
		return e;
	c->lonely = true;
	for (size_t k = 0; k < r->p->n_sample_type; k++)
		if (period != NULL && k != i &&
		    r->p->sample_type[k]->type == period->type)
			c->lonely = false;
	return NULL;
}

/* How a column is counted: in periods where its values are counts of them
 * or multiples. */
static void
reader_count(struct reader *r, size_t i, const struct pprof_column *c,
    struct stacks_type *t)
{
	int64_t period = r->p->period;

	t->period = 1;
	t->unit = c->unit;
	r->periods[i] = 1;
	if (period <= 1 || c->period_unit[0] == '\0')
		return;
	if (c->lonely && strcmp(c->type, "samples") == 0 &&
	    strcmp(c->period_unit, "nanoseconds") == 0) {
		t->period = period;
		t->unit = c->period_unit;
	} else if (strcmp(c->type, c->period_type) == 0 &&
	    strcmp(c->unit, c->period_unit) == 0 &&
	    strcmp(c->unit, "nanoseconds") == 0 &&
	    reader_is_multiple(r, i, period)) {
		t->period = r->periods[i] = period;
	}
}

static const struct err *
reader_type(struct reader *r, size_t i)
{
	const struct pprof_config *config;
	struct pprof_column c;
	struct stacks_type t;
	const struct err *e;
	char name[128];

	if ((e = reader_column(r, i, &c)) != NULL)
		return e;
	t.kind = (r->o->name != NULL ? r->o->name : pprof_name)(
	    r->o->name_arg, &c, name, sizeof(name));
	reader_count(r, i, &c, &t);
	if ((config = reader_config(r, c.type)) != NULL) {
		if (config->display[0] != '\0')
			pprof_sanitize(name, sizeof(name), config->display);
		if (config->average >= 0)
			t.kind = config->average ? SERIES_STOCK : SERIES_FLOW;
		if (config->units[0] != '\0' && t.period == 1)
			t.unit = config->units;
	}
	t.name = name;
	r->types[i] = stacks_type(r->s, &t);
	return stacks_error(r->s);
}

static const struct err *
reader_types(struct reader *r)
{
	const struct err *e = NULL;

	if (r->p->n_sample_type == 0)
		return err_new(ERR_REQUEST, 422,
		    "pprof: no sample_type: this is no profile");
	if (r->p->n_sample_type > COLUMNS_MAX)
		return err_new(ERR_REQUEST, 413, "pprof: more than %d types",
		    COLUMNS_MAX);
	for (size_t i = 0; i < r->p->n_sample_type && e == NULL; i++)
		e = reader_type(r, i);
	return e;
}

/* ---- samples ---- */

/* The label set of a sample: the node that its stack hangs on. */
static const struct err *
reader_labels(struct reader *r, const Pprof__Sample *sample, uint32_t *node)
{
	static const char *const single[] = {"profile_id", "span_id",
	    "trace_id"};
	struct label labels[STACKS_LABELS_MAX];
	const struct err *e;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_label; i++) {
		const Pprof__Label *l = sample->label[i];
		struct label *to = &labels[n];
		bool request = false;

		if (l->str == 0) {
			r->numeric++;
			continue;
		}
		if (n == STACKS_LABELS_MAX)
			return err_new(ERR_REQUEST, 413, "pprof: a sample "
			    "with more than %d labels", STACKS_LABELS_MAX);
		if ((e = reader_str(r, l->key, &to->name)) != NULL ||
		    (e = reader_str(r, l->str, &to->value)) != NULL)
			return e;
		for (size_t k = 0; k < sizeof(single) / sizeof(*single); k++)
			request |= strcmp(to->name, single[k]) == 0;
		r->requests += request;
		n += !request;
	}
	*node = stacks_labels(r->s, labels, n);
	return NULL;
}

static bool
reader_room(struct reader *r, size_t n)
{
	size_t cap = n * 2 + 64;
	uint32_t *path;

	if (n <= r->cap_path)
		return true;
	path = realloc(r->path, cap * sizeof(*path));
	if (path == NULL)
		return false;
	r->path = path;
	r->cap_path = cap;
	return true;
}

/* How many locations at the root this sample and the last have in common. */
static size_t
reader_shared(const struct reader *r, const Pprof__Sample *sample,
    uint32_t top)
{
	const Pprof__Sample *last = r->last;
	size_t n = 0;

	if (last == NULL || top != r->last_top)
		return 0;
	while (n < sample->n_location_id && n < r->n_path &&
	    sample->location_id[sample->n_location_id - 1 - n] ==
	    last->location_id[last->n_location_id - 1 - n])
		n++;
	return n;
}

static const struct err *
reader_stack(struct reader *r, const Pprof__Sample *sample, uint32_t *node)
{
	size_t n = sample->n_location_id;
	size_t shared = reader_shared(r, sample, *node);

	if (!reader_room(r, n))
		return err_nomem();
	r->last_top = *node;
	if (shared > 0)
		*node = r->path[shared - 1];
	for (size_t i = shared; i < n; i++) {
		uint64_t id = sample->location_id[n - 1 - i];
		uint32_t at = ids_find(&r->locations, id);

		if (at == INTERN_NONE)
			return err_new(ERR_REQUEST, 422, "pprof: location "
			    "%llu is not there", (unsigned long long)id);
		for (uint32_t k = 0; k < r->places[at].n; k++)
			*node = stacks_child(r->s, *node,
			    r->frames[r->places[at].first + k]);
		r->path[i] = *node;
	}
	r->n_path = n;
	r->last = sample;
	return NULL;
}

static const struct err *
reader_sample(struct reader *r, size_t i)
{
	const Pprof__Sample *sample = r->p->sample[i];
	const struct err *e;
	uint32_t node = 0;

	if (sample->n_value != r->p->n_sample_type)
		return pprof_bad("sample", i, "not one value for each type");
	for (size_t k = 0; k < sample->n_value; k++)
		if (sample->value[k] < 0)
			return pprof_bad("sample", i, "a negative value");
	if ((e = reader_labels(r, sample, &node)) != NULL ||
	    (e = reader_stack(r, sample, &node)) != NULL)
		return e;
	for (size_t k = 0; k < sample->n_value; k++)
		stacks_add(r->s, node, r->types[k],
		    sample->value[k] / r->periods[k]);
	return (i & 1023) == 0 ? stacks_error(r->s) : NULL;
}

static const struct err *
reader_samples(struct reader *r)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < r->p->n_sample && e == NULL; i++)
		e = reader_sample(r, i);
	if (e == NULL)
		e = stacks_error(r->s);
	if (r->numeric > 0)
		stacks_skip(r->s, "labels that are numbers", r->numeric);
	if (r->requests > 0)
		stacks_skip(r->s, "ids of single requests", r->requests);
	if (r->unnamed > 0)
		stacks_skip(r->s, "lines without a function", r->unnamed);
	return e;
}

static const struct err *
pprof_take(struct reader *r)
{
	const struct err *e;
	int64_t end;

	if ((e = reader_ids(r)) == NULL && (e = reader_types(r)) == NULL &&
	    (e = reader_locations(r)) == NULL)
		e = reader_samples(r);
	if (e == NULL && r->p->time_nanos > 0 && r->p->duration_nanos >= 0 &&
	    !__builtin_add_overflow(r->p->time_nanos, r->p->duration_nanos,
	    &end))
		stacks_set_range(r->s, r->p->time_nanos, end);
	map64_fini(&r->mappings.map);
	map64_fini(&r->functions.map);
	map64_fini(&r->locations.map);
	free(r->path);
	return e;
}

/* Unpacked messages may be larger than their bytes; a profile's are about
 * ten times, the worst of strangers forty. */
static size_t
pprof_limit(size_t n)
{
	return n * 24 + (4u << 20);
}

static const struct err *
pprof_unpack(struct stacks *s, const void *data, size_t n,
    const struct pprof_options *o)
{
	struct reader r = {.s = s, .o = o};
	const struct err *e;
	struct arena arena;

	arena_init(&arena, pprof_limit(n));
	r.arena = &arena;
	r.p = pprof__profile__unpack(&arena.allocator, n, data);
	if (r.p != NULL)
		e = pprof_take(&r);
	else if (arena.over)
		e = err_new(ERR_REQUEST, 413,
		    "pprof: too many messages for %zu bytes", n);
	else
		e = err_new(ERR_REQUEST, 422, "pprof: not a profile, or "
		    "damaged: protobuf does not parse in %zu bytes", n);
	arena_fini(&arena);
	return e;
}

const struct err *
pprof_parse_as(struct stacks *s, const void *data, size_t n,
    const struct pprof_options *o)
{
	size_t most = o->max_bytes != 0 ? o->max_bytes : MAX_BYTES;
	struct buf plain = {0};
	const struct err *e;

	if (!gzip_looks(data, n)) {
		if (n > most)
			return err_new(ERR_REQUEST, 413,
			    "pprof: larger than %zu bytes", most);
		return pprof_unpack(s, data, n, o);
	}
	e = gzip_inflate(&plain, data, n, most);
	if (e == NULL)
		e = pprof_unpack(s, plain.data, plain.len, o);
	buf_fini(&plain);
	return e;
}

const struct err *
pprof_parse(struct stacks *s, const void *data, size_t n)
{
	static const struct pprof_options file = {.max_bytes = 1u << 30};

	return pprof_parse_as(s, data, n, &file);
}
