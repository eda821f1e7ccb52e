/*
 * From pprof's messages to stacks.  protobuf-c has checked the wire; here
 * every number is checked that refers to something.
 */
#include "fcgi/format/pprof/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/pprof/pprof_private.h"
#include "fcgi/format/pprof/wire.h"
#include "store/base/err.h"
#include "store/model/type.h"
#include "store/model/unit.h"

#define MAX_BYTES (64u << 20)

const struct err *
pprof_bad(const char *what, size_t i, const char *why)
{
	return err_new(ERR_REQUEST, 422, "pprof: %s %zu: %s", what, i, why);
}

const struct err *
pprof_damaged(const struct pprof_reader *r)
{
	size_t n = cur_left(&r->all);
	size_t at = wire_damage(&pprof__profile__descriptor, r->all.p, n);

	return n > 0 && *r->all.p == 0 /* nothing begins so */
	    ? err_new(ERR_REQUEST, 422,
	        "pprof: not a profile: byte 0 of %zu is NUL", n)
	    : err_new(ERR_REQUEST, 422, "pprof: not a profile, or damaged: "
	        "protobuf does not parse at byte %zu of %zu", at, n);
}

void *
pprof_alloc(struct pprof_reader *r, size_t n, size_t size)
{
	return arena_alloc(&r->arena, (n + 1) * size);
}

const struct err *
pprof_full(const struct pprof_reader *r)
{
	if (!r->arena.over)
		return err_nomem();
	return err_new(ERR_REQUEST, 413,
	    "pprof: too many messages for its bytes");
}

/* ---- ids ---- */

static const struct err *
ids_add(struct pprof_ids *ids, uint64_t id, const char *what)
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

static const struct err *
reader_ids(struct pprof_reader *r)
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

const struct err *
pprof_str(const struct pprof_reader *r, int64_t i, const char **text)
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
	const char *name, *path, *build_id;
	uint64_t start, offset;
	bool native;
};

static const struct err *
reader_module(const struct pprof_reader *r, const Pprof__Location *l,
    struct module *m)
{
	const Pprof__Mapping *mapping;
	const struct err *e;
	const char *slash;
	uint32_t at;

	*m = (struct module){"", "", "", 0, 0, false};
	if (l->mapping_id == 0)
		return NULL;
	at = pprof_ids_find(&r->mappings, l->mapping_id);
	if (at == INTERN_NONE)
		return pprof_bad("location", (size_t)l->id,
		    "its mapping is not there");
	mapping = r->p->mapping[at];
	if ((e = pprof_str(r, mapping->filename, &m->name)) != NULL ||
	    (e = pprof_str(r, mapping->build_id, &m->build_id)) != NULL)
		return e;
	m->path = m->name;
	if ((slash = strrchr(m->name, '/')) != NULL && slash[1] != '\0')
		m->name = slash + 1;
	m->start = mapping->memory_start;
	m->offset = mapping->file_offset;
	m->native = m->name[0] != '\0' || m->build_id[0] != '\0';
	return NULL;
}

/* What no function is known of. */
static uint32_t
reader_address(struct pprof_reader *r, const Pprof__Location *l,
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
reader_name(const struct pprof_reader *r, const Pprof__Function *fn, char *name,
    size_t size)
{
	const char *own, *file;
	const struct err *e;

	if ((e = pprof_str(r, fn->name, &own)) != NULL ||
	    (e = pprof_str(r, fn->filename, &file)) != NULL)
		return e;
	if (own[0] == '\0')
		e = pprof_str(r, fn->system_name, &own);
	if (e == NULL && r->o->file_names && file[0] != '\0' && file[0] != '/')
		snprintf(name, size, "%s %s", file, own);
	else if (e == NULL)
		snprintf(name, size, "%s", own);
	return e;
}

static const struct err *
reader_line(struct pprof_reader *r, const Pprof__Line *line,
    const struct module *m, bool inlined, struct pprof_place *at)
{
	uint32_t fn = pprof_ids_find(&r->functions, line->function_id);
	struct frame f = {FRAME_MANAGED, NULL, m->name, m->build_id, 0};
	char name[4096];
	const struct err *e;
	uint32_t frame;

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
	frame = stacks_frame(r->s, &f);
	r->frames[at->first + at->n++] = frame;
	pprof_places_see(r, fn, frame, line->line);
	return NULL;
}

/* The functions at an address, by whoever can read its file. */
static void
reader_locate(struct pprof_reader *r, const Pprof__Location *l,
    const struct module *m, struct pprof_place *at)
{
	struct pprof_code code = {m->path, m->build_id, 0};
	struct frame frames[PPROF_INLINED_MAX];
	size_t n;

	if (r->o->locate == NULL || !m->native || l->address < m->start)
		return;
	code.offset = l->address - m->start + m->offset;
	n = r->o->locate(r->o->locate_arg, &code, frames);
	for (size_t i = 0; i < n; i++) {
		frames[i].module = m->name;
		frames[i].build_id = m->build_id;
		r->frames[at->first + at->n++] = stacks_frame(r->s,
		    &frames[i]);
	}
}

static const struct err *
reader_location(struct pprof_reader *r, size_t i, uint32_t *used)
{
	const Pprof__Location *l = r->p->location[i];
	struct pprof_place *at = &r->places[i];
	const struct err *e;
	struct module m;

	*at = (struct pprof_place){*used, 0};
	if ((e = reader_module(r, l, &m)) != NULL)
		return e;
	for (size_t k = l->n_line; k-- > 0;)
		if ((e = reader_line(r, l->line[k], &m, k + 1 < l->n_line,
		    at)) != NULL)
			return e;
	if (at->n == 0)
		reader_locate(r, l, &m, at);
	if (at->n == 0)
		r->frames[at->first + at->n++] = reader_address(r, l, &m);
	*used += at->n;
	return NULL;
}

static const struct err *
reader_locations(struct pprof_reader *r)
{
	const struct err *e;
	size_t lines = r->p->n_location, located = 0;
	uint32_t used = 0;

	for (size_t i = 0; i < r->p->n_location; i++) {
		lines += r->p->location[i]->n_line;
		located += r->p->location[i]->n_line == 0;
	}
	if (r->o->locate != NULL)
		lines += located * (PPROF_INLINED_MAX - 1);
	r->places = pprof_alloc(r, r->p->n_location, sizeof(*r->places));
	r->frames = pprof_alloc(r, lines, sizeof(*r->frames));
	if (r->places == NULL || r->frames == NULL || lines > UINT32_MAX)
		return pprof_full(r);
	e = pprof_places_begin(r, lines);
	for (size_t i = 0; i < r->p->n_location && e == NULL; i++)
		e = reader_location(r, i, &used);
	if (e == NULL)
		e = pprof_places_end(r);
	return e != NULL ? e : stacks_error(r->s);
}

/* ---- types ---- */

static const struct pprof_config *
reader_config(const struct pprof_reader *r, const char *type)
{
	for (size_t i = 0; i < r->o->n_configs; i++)
		if (strcmp(r->o->configs[i].type, type) == 0)
			return &r->o->configs[i];
	return NULL;
}

static bool
reader_is_multiple(const struct pprof_reader *r, size_t column, int64_t period)
{
	size_t columns = r->p->n_sample_type;

	for (size_t i = 0; i < r->n_samples; i++)
		if (r->values[i * columns + column] % period != 0)
			return false;
	return true;
}

static const struct err *
reader_column(const struct pprof_reader *r, size_t i, struct pprof_column *c)
{
	const Pprof__ValueType *t = r->p->sample_type[i];
	const Pprof__ValueType *period = r->p->period_type;
	const struct err *e;

	c->period_type = c->period_unit = "";
	if ((e = pprof_str(r, t->type, &c->type)) != NULL ||
	    (e = pprof_str(r, t->unit, &c->unit)) != NULL)
		return e;
	if (period != NULL &&
	    ((e = pprof_str(r, period->type, &c->period_type)) != NULL ||
	    (e = pprof_str(r, period->unit, &c->period_unit)) != NULL))
		return e;
	c->lonely = true;
	for (size_t k = 0; k < r->p->n_sample_type; k++)
		if (period != NULL && k != i &&
		    r->p->sample_type[k]->type == period->type)
			c->lonely = false;
	return NULL;
}

/* How a column is counted: in periods where its values are counts of them
 * or multiples, and the period is one that comes again. */
static void
reader_count(struct pprof_reader *r, size_t i, const struct pprof_column *c,
    struct stacks_type *t)
{
	int64_t scale, period, own = r->p->period;
	const char *unit = unit_canonical(c->period_unit, &scale);
	bool steady;

	t->period = 1;
	t->unit = c->unit;
	r->periods[i] = r->factors[i] = 1;
	if (!unit_is_time(unit) ||
	    __builtin_mul_overflow(own, scale, &period) || period <= 1)
		return;
	steady = pprof_is_steady(period);
	if (c->lonely && strcmp(c->type, "samples") == 0) {
		t->period = steady ? period : 1;
		r->factors[i] = steady ? 1 : period;
		t->unit = unit;
	} else if (steady && strcmp(c->type, c->period_type) == 0 &&
	    strcmp(c->unit, c->period_unit) == 0 &&
	    reader_is_multiple(r, i, own)) {
		t->period = period;
		r->periods[i] = own;
		t->unit = unit;
	}
}

static const struct err *
reader_type(struct pprof_reader *r, size_t i)
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
			type_sanitize(name, sizeof(name), config->display);
		if (config->average >= 0)
			t.kind = config->average ? SERIES_STOCK : SERIES_FLOW;
		/* of the values as they came, not of periods */
		if (config->units[0] != '\0' && t.unit == c.unit)
			t.unit = config->units;
	}
	t.name = name;
	r->types[i] = stacks_type(r->s, &t);
	return stacks_error(r->s);
}

static const struct err *
reader_types(struct pprof_reader *r)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < r->p->n_sample_type && e == NULL; i++)
		e = reader_type(r, i);
	return e;
}

static const struct err *
reader_add(struct pprof_reader *r)
{
	size_t columns = r->p->n_sample_type;

	for (size_t i = 0; i < r->n_samples; i++)
		for (size_t k = 0; k < columns; k++) {
			int64_t v = r->values[i * columns + k] / r->periods[k];

			if (__builtin_mul_overflow(v, r->factors[k], &v))
				return pprof_bad("sample", i,
				    "more nanoseconds than can be counted");
			stacks_add(r->s, r->nodes[i], r->types[k], v);
		}
	return stacks_error(r->s);
}

static const struct err *
reader_check(const struct pprof_reader *r)
{
	if (r->p->n_sample_type == 0)
		return err_new(ERR_REQUEST, 422,
		    "pprof: no sample_type: this is no profile");
	if (r->p->n_sample_type > PPROF_COLUMNS_MAX)
		return err_new(ERR_REQUEST, 413, "pprof: more than %d types",
		    PPROF_COLUMNS_MAX);
	return NULL;
}

/* A heap's samples are so many bytes apart, as Go, tcmalloc and jemalloc write
 * it: 0 where that is not said. */
static const struct err *
reader_mean(const struct pprof_reader *r, uint64_t *mean)
{
	const Pprof__ValueType *period = r->p->period_type;
	const char *type, *unit;
	const struct err *e;

	*mean = 0;
	if (period == NULL || r->p->period <= 0)
		return NULL;
	if ((e = pprof_str(r, period->type, &type)) != NULL ||
	    (e = pprof_str(r, period->unit, &unit)) != NULL)
		return e;
	if (strcmp(type, "space") == 0 && strcmp(unit, "bytes") == 0)
		*mean = (uint64_t)r->p->period;
	return NULL;
}

static const struct err *
pprof_take(struct pprof_reader *r)
{
	const struct err *e;
	uint64_t mean = 0;
	int64_t end;

	/* types come last: what they count in depends on all values */
	if ((e = reader_check(r)) == NULL && (e = reader_ids(r)) == NULL &&
	    (e = reader_locations(r)) == NULL &&
	    (e = pprof_samples(r)) == NULL && (e = reader_types(r)) == NULL)
		e = reader_add(r);
	if (e == NULL)
		e = reader_mean(r, &mean);
	stacks_set_mean(r->s, mean);
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
	struct pprof_reader r = {.s = s, .o = o};
	const struct err *e;
	struct buf rest = {0};

	arena_init(&r.arena, pprof_limit(n));
	if (pprof_split(&r, data, n, &rest) && !rest.failed)
		r.p = pprof__profile__unpack(&r.arena.allocator, rest.len,
		    rest.data);
	if (r.p != NULL)
		e = pprof_take(&r);
	else if (r.arena.over || rest.failed)
		e = pprof_full(&r);
	else
		e = pprof_damaged(&r);
	arena_fini(&r.arena);
	buf_fini(&rest);
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
