/*
 * From a call tree to pprof's messages.  A frame that looks the same is one
 * function and one location; each node with samples of its own is a sample,
 * with the labels of the set that it lies below.
 *
 * Samples are packed one by one, for as messages they take ten times their
 * bytes, and are with gzip at once; what stands before and behind them is
 * packed as profiles that have none, as the parts of a message may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/arena.h"
#include "fcgi/format/gzip.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/writer.h"
#include "pprof.pb-c.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/intern.h"
#include "store/store.h"

#define TAG_SAMPLE (2u << 3 | 2)
#define ENOUGH (64u << 10) /* bytes that gzip is given at once */

struct maker {
	const struct profile *p;
	struct arena arena, one; /* of all messages; of one sample */
	struct arena *from;      /* that of what is being made */
	Pprof__Profile out;      /* without its samples */
	struct buf *packed;      /* what gzip has not got yet; else all */
	struct gzip_out *gzip; /* NULL: packed by nothing */
	struct intern strings;
	struct intern looks;   /* name and module: functions, locations */
	struct intern modules; /* strings: mappings */
	uint32_t *look;        /* by node */
	pprof_place_fn *place; /* NULL: none is known */
	void *place_arg;
	bool over;             /* an amount is beyond 63 bits */
	bool failed;
};

static int64_t
maker_str(struct maker *m, const char *text)
{
	uint32_t i = intern_put(&m->strings, text, strlen(text));

	m->failed |= i == INTERN_NONE;
	return i;
}

static void *
maker_alloc(struct maker *m, size_t n, size_t size)
{
	void *p = arena_alloc(m->from, (n + 1) * size);

	if (p == NULL)
		m->failed = true;
	else
		memset(p, 0, (n + 1) * size);
	return p;
}

/* ---- frames ---- */

struct look {
	uint32_t name;   /* string */
	uint32_t module; /* id of its mapping; that of "" has no file */
};

/* What runs, and not what it has loaded: tools call the profile by the first
 * mapping's file. */
static bool
maker_is_program(const char *module)
{
	return module[0] != '\0' && module[0] != '[' &&
	    strstr(module, ".so") == NULL;
}

static void
maker_program(struct maker *m)
{
	const struct profile_node *best = NULL;
	uint32_t module;

	for (size_t i = 1; i < m->p->n_nodes; i++) {
		const struct profile_node *node = &m->p->nodes[i];

		if ((best == NULL || node->total > best->total) &&
		    maker_is_program(node->module))
			best = node;
	}
	if (best == NULL)
		return;
	module = (uint32_t)maker_str(m, best->module);
	m->failed |= intern_put(&m->modules, &module, sizeof(module)) ==
	    INTERN_NONE;
}

/* The depth of label sets; that of no node where there are none. */
static uint32_t
maker_sets(const struct maker *m)
{
	return m->p->sets ? 1 : UINT32_MAX;
}

/* Numbers all functions and modules. */
static void
maker_looks(struct maker *m)
{
	m->look = maker_alloc(m, m->p->n_nodes, sizeof(*m->look));
	maker_program(m);
	for (size_t i = 1; i < m->p->n_nodes && !m->failed; i++) {
		const struct profile_node *node = &m->p->nodes[i];
		struct look look = {0, 0};
		uint32_t module;

		if (node->depth == maker_sets(m))
			continue;
		look.name = (uint32_t)maker_str(m, node->name);
		module = (uint32_t)maker_str(m, node->module);
		look.module = 1 + intern_put(&m->modules, &module,
		    sizeof(module));
		m->look[i] = intern_put(&m->looks, &look, sizeof(look));
		m->failed |= m->look[i] == INTERN_NONE || gone();
	}
}

/* pprof takes a profile without any mapping for one without symbols. */
static void
maker_mappings(struct maker *m)
{
	size_t n = m->modules.n > 0 ? m->modules.n : 1;
	Pprof__Mapping *all = maker_alloc(m, n, sizeof(*all));

	m->out.mapping = maker_alloc(m, n, sizeof(*m->out.mapping));
	for (size_t i = 0; i < n && !m->failed; i++) {
		pprof__mapping__init(&all[i]);
		all[i].id = i + 1;
		all[i].memory_start = (i + 1) << 40;
		all[i].memory_limit = (i + 2) << 40;
		if (i < m->modules.n)
			all[i].filename = *(const uint32_t *)intern_at(
			    &m->modules, (uint32_t)i);
		all[i].has_functions = true;
		m->out.mapping[i] = &all[i];
	}
	m->out.n_mapping = n;
}

static void
maker_place(struct maker *m, const struct look *look, Pprof__Function *f,
    Pprof__Line *l)
{
	const uint32_t *module = intern_at(&m->modules, look->module - 1);
	const char *file;
	uint32_t string;
	int64_t line;
	size_t n;

	if (m->place == NULL || !m->place(m->place_arg,
	    intern_str(&m->strings, look->name),
	    intern_str(&m->strings, *module), &file, &n, &line))
		return;
	string = intern_put(&m->strings, file, n);
	m->failed |= string == INTERN_NONE;
	f->filename = string;
	f->start_line = l->line = line;
}

static void
maker_locations(struct maker *m)
{
	size_t n = m->looks.n;
	Pprof__Function *functions = maker_alloc(m, n, sizeof(*functions));
	Pprof__Location *locations = maker_alloc(m, n, sizeof(*locations));
	Pprof__Line *lines = maker_alloc(m, n, sizeof(*lines));
	Pprof__Line **line = maker_alloc(m, n, sizeof(Pprof__Line *));

	m->out.function = maker_alloc(m, n, sizeof(*m->out.function));
	m->out.location = maker_alloc(m, n, sizeof(*m->out.location));
	for (uint32_t i = 0; i < n && !m->failed; i++) {
		const struct look *look = intern_at(&m->looks, i);

		pprof__function__init(&functions[i]);
		functions[i].id = i + 1;
		functions[i].name = functions[i].system_name = look->name;
		pprof__line__init(&lines[i]);
		lines[i].function_id = i + 1;
		maker_place(m, look, &functions[i], &lines[i]);
		line[i] = &lines[i];
		pprof__location__init(&locations[i]);
		locations[i].id = i + 1;
		locations[i].mapping_id = look->module;
		locations[i].line = &line[i];
		locations[i].n_line = 1;
		m->out.function[i] = &functions[i];
		m->out.location[i] = &locations[i];
	}
	m->out.n_function = m->out.n_location = n;
}

/* ---- samples ---- */

/* pprof's numbers have 63 bits. */
static int64_t
maker_value(struct maker *m, int128 v)
{
	m->over = m->over || v > INT64_MAX;
	return v > INT64_MAX ? 0 : (int64_t)v;
}

static int64_t
maker_strn(struct maker *m, const char *text, size_t n)
{
	uint32_t i = intern_put(&m->strings, text, n);

	m->failed |= i == INTERN_NONE;
	return i;
}

/* "name\1value\1name\1value", as the store has it. */
static void
maker_labels(struct maker *m, const char *set, Pprof__Sample *sample)
{
	size_t n = 1;

	for (const char *p = set; *p != '\0'; p++)
		n += *p == '\1';
	sample->label = maker_alloc(m, n / 2, sizeof(Pprof__Label *));
	for (const char *p = set; *p != '\0' && !m->failed;) {
		size_t name = strcspn(p, "\1");
		const char *value = p + name + (p[name] == '\1');
		size_t len = strcspn(value, "\1");
		Pprof__Label *l = maker_alloc(m, 1, sizeof(*l));

		if (l == NULL || sample->n_label == n / 2)
			return;
		pprof__label__init(l);
		l->key = maker_strn(m, p, name);
		l->str = maker_strn(m, value, len);
		sample->label[sample->n_label++] = l;
		p = value + len + (value[len] == '\1');
	}
}

static Pprof__Sample *
maker_sample(struct maker *m, uint32_t i)
{
	const struct profile_node *nodes = m->p->nodes;
	Pprof__Sample *sample = maker_alloc(m, 1, sizeof(*sample));
	struct profile_samples samples;
	size_t n = 0, types = m->out.n_sample_type;

	if (sample == NULL)
		return NULL;
	pprof__sample__init(sample);
	sample->location_id = maker_alloc(m, nodes[i].depth,
	    sizeof(*sample->location_id));
	sample->value = maker_alloc(m, types, sizeof(*sample->value));
	if (m->failed)
		return NULL;
	for (uint32_t k = i; k != 0; k = nodes[k].parent) {
		if (nodes[k].depth == maker_sets(m))
			maker_labels(m, nodes[k].name, sample);
		else
			sample->location_id[n++] = m->look[k] + 1;
	}
	sample->n_location_id = n;
	profile_samples(m->p, i, &samples);
	sample->value[0] = maker_value(m, samples.self);
	sample->value[types - 1] = maker_value(m, nodes[i].self);
	sample->n_value = types;
	return sample;
}

static void
maker_pack_sample(struct maker *m, const Pprof__Sample *sample)
{
	size_t n = sample == NULL ? 0 : pprof__sample__get_packed_size(sample);

	buf_put_u8(m->packed, TAG_SAMPLE);
	buf_put_varint(m->packed, n);
	if (m->failed || !buf_reserve(m->packed, n))
		return;
	m->packed->len += pprof__sample__pack(sample,
	    m->packed->data + m->packed->len);
}

/* Once there is enough for gzip, or all of it. */
static void
maker_send(struct maker *m, size_t enough)
{
	if (m->gzip == NULL || m->packed->len < enough)
		return;
	gzip_put(m->gzip, m->packed->data, m->packed->len);
	buf_clear(m->packed);
}

static void
maker_samples(struct maker *m)
{
	m->from = &m->one;
	for (uint32_t i = 0; i < m->p->n_nodes && !m->failed && !gone(); i++) {
		if (m->p->nodes[i].self <= 0)
			continue;
		maker_pack_sample(m, maker_sample(m, i));
		maker_send(m, ENOUGH);
		arena_clear(&m->one);
	}
	m->from = &m->arena;
}

static Pprof__ValueType *
maker_type(struct maker *m, const char *type, const char *unit)
{
	Pprof__ValueType *t = maker_alloc(m, 1, sizeof(*t));

	if (t == NULL)
		return NULL;
	pprof__value_type__init(t);
	t->type = maker_str(m, type);
	t->unit = maker_str(m, unit);
	return t;
}

/* Samples and what they are of, as pprof's own tools write both; where the
 * samples are all there is, once.  The period is 0 where there are several. */
static void
maker_head(struct maker *m, const char *type)
{
	const char *unit = m->p->unit[0] != '\0' ? m->p->unit : "count";
	Pprof__ValueType **types = maker_alloc(m, 2, sizeof(*types));
	size_t n = 0;

	if (types == NULL)
		return;
	if (m->p->period > 1 || m->p->samples != NULL)
		types[n++] = maker_type(m, "samples", "count");
	types[n++] = maker_type(m, type, unit);
	m->out.sample_type = types;
	m->out.n_sample_type = n;
	m->out.period_type = maker_type(m, type, unit);
	m->out.period = m->p->period;
	m->out.default_sample_type = maker_str(m, type);
	m->out.time_nanos = m->p->from_ns;
	m->out.duration_nanos = m->p->until_ns - m->p->from_ns;
}

/* Samples that nobody has counted are not among the counts: tools show this
 * above the numbers. */
static void
maker_comment_unknown(struct maker *m)
{
	int64_t *list = maker_alloc(m, 1, sizeof(*list));
	struct profile_samples all;
	struct buf text = {0};

	if (list == NULL || !profile_samples(m->p, 0, &all) ||
	    all.total_unknown == 0)
		return;
	buf_printf(&text, "samples are at least so many: of ");
	writer_put_grouped(&text, all.total_unknown);
	buf_printf(&text, " %s nobody has said how many they are",
	    m->p->unit);
	buf_put_u8(&text, '\0');
	m->failed = m->failed || text.failed;
	if (!m->failed)
		*list = maker_str(m, (const char *)text.data);
	m->out.comment = list;
	m->out.n_comment = 1;
	buf_fini(&text);
}

static void
maker_strings(struct maker *m)
{
	m->out.string_table = maker_alloc(m, m->strings.n,
	    sizeof(*m->out.string_table));
	for (uint32_t i = 0; i < m->strings.n && !m->failed; i++)
		m->out.string_table[i] =
		    (char *)(uintptr_t)intern_str(&m->strings, i);
	m->out.n_string_table = m->strings.n;
}

static void
maker_pack(struct maker *m, const Pprof__Profile *part)
{
	size_t n = pprof__profile__get_packed_size(part);

	if (!m->failed && buf_reserve(m->packed, n))
		m->packed->len += pprof__profile__pack(part,
		    m->packed->data + m->packed->len);
}

/* What stands before the samples: it is not packed again. */
static void
maker_pack_types(struct maker *m)
{
	Pprof__Profile types = PPROF__PROFILE__INIT;

	types.sample_type = m->out.sample_type;
	types.n_sample_type = m->out.n_sample_type;
	maker_pack(m, &types);
}

/* What stands behind them: their labels are among the strings. */
static void
maker_pack_rest(struct maker *m)
{
	maker_comment_unknown(m);
	maker_strings(m);
	m->out.n_sample_type = 0;
	maker_pack(m, &m->out);
}

static void
maker_make(struct maker *m, const char *type)
{
	maker_str(m, "");
	maker_head(m, type);
	maker_looks(m);
	maker_mappings(m);
	maker_locations(m);
	maker_pack_types(m);
	maker_samples(m);
	maker_pack_rest(m);
	maker_send(m, 1);
}

const struct err *
pprof_write(struct buf *out, const struct profile *p, const char *type,
    bool gzip, pprof_place_fn *place, void *arg)
{
	struct buf plain = {0};
	struct maker m = {.p = p, .place = place, .place_arg = arg,
	    .packed = gzip ? &plain : out,
	    .gzip = gzip ? gzip_begin(out) : NULL};
	const struct err *e = NULL;
	size_t before = out->len;

	m.failed = gzip && m.gzip == NULL;
	arena_init(&m.arena, SIZE_MAX / 4);
	arena_init(&m.one, SIZE_MAX / 4);
	m.from = &m.arena;
	m.looks.aligned = m.modules.aligned = true;
	pprof__profile__init(&m.out);
	maker_make(&m, type);
	arena_fini(&m.arena);
	arena_fini(&m.one);
	intern_fini(&m.strings);
	intern_fini(&m.looks);
	intern_fini(&m.modules);
	if (gzip)
		e = gzip_end(m.gzip);
	if (m.over)
		e = err_new(ERR_REQUEST, 413, "a stack has more than 2^63 %s, "
		    "which no pprof holds: ask for a shorter range",
		    m.p->unit);
	else if (m.failed || m.packed->failed)
		e = err_nomem();
	if (e != NULL)
		out->len = before;
	buf_fini(&plain);
	return e;
}
