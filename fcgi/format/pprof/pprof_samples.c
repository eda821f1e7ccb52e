/*
 * The samples of a profile, each unpacked by protobuf-c from where it stands
 * into memory that stays warm.
 *
 * The next one is unpacked before the last is put: meanwhile the processor
 * fetches what the look-up of its first frame will touch.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/pprof/pprof_private.h"
#include "fcgi/format/pprof/wire.h"
#include "fcgi/format/stacks_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define TAG_SAMPLE (2u << 3 | 2)

bool
pprof_split(struct pprof_reader *r, const void *data, size_t n,
    struct buf *rest)
{
	struct cur c = cur_of(data, n);
	const uint8_t *kept = c.p, *p;
	size_t len;

	r->wire = r->all = c;
	while (cur_left(&c) > 0) {
		const uint8_t *start = c.p;

		if (wire_field(&c, &p, &len) != TAG_SAMPLE)
			continue;
		buf_put(rest, kept, (size_t)(start - kept));
		kept = c.p;
		r->n_samples++;
	}
	if (c.bad)
		return false;
	buf_put(rest, kept, (size_t)(c.p - kept));
	return true;
}

/* ---- labels ---- */

/* The label set of a sample: the node that its stack hangs on.  Without the
 * numbers of single requests, which would make a set of each sample. */
static const struct err *
sample_labels(
    struct pprof_reader *r, const Pprof__Sample *sample, uint32_t *node)
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
		if ((e = pprof_str(r, l->key, &to->name)) != NULL ||
		    (e = pprof_str(r, l->str, &to->value)) != NULL)
			return e;
		for (size_t k = 0; k < sizeof(single) / sizeof(*single); k++)
			request |= strcmp(to->name, single[k]) == 0;
		r->requests += request;
		n += !request;
	}
	*node = stacks_labels(r->s, labels, n);
	return NULL;
}

/* ---- stacks ---- */

/* A sample on its way: unpacked, then begun, then put. */
struct sample {
	struct arena arena;
	const Pprof__Sample *message;
	uint32_t top;  /* the node that its stack hangs on */
	size_t shared; /* locations that it has in common with the last */
};

/* How many locations at the root this sample and the last have in common. */
static size_t
sample_shared(const struct pprof_reader *r, const struct sample *s)
{
	size_t n = s->message->n_location_id, shared = 0;

	if (s->top != r->last_top)
		return 0;
	while (shared < n && shared < r->n_path &&
	    s->message->location_id[n - 1 - shared] == r->path[shared].id)
		shared++;
	return shared;
}

static uint32_t
sample_parent(const struct pprof_reader *r, const struct sample *s)
{
	return s->shared > 0 ? r->path[s->shared - 1].node : s->top;
}

static const struct err *
sample_begin(struct pprof_reader *r, struct sample *s)
{
	const Pprof__Sample *m = s->message;
	const struct err *e = sample_labels(r, m, &s->top);
	uint32_t at;

	if (e != NULL)
		return e;
	s->shared = sample_shared(r, s);
	if (s->shared == m->n_location_id)
		return NULL;
	at = pprof_ids_find(&r->locations,
	    m->location_id[m->n_location_id - 1 - s->shared]);
	if (at != INTERN_NONE)
		children_fetch(&r->s->children,
		    children_hash(sample_parent(r, s),
		    r->frames[r->places[at].first]));
	return NULL;
}

/* A stack goes from the last location to the first. */
static const struct err *
sample_stack(struct pprof_reader *r, const struct sample *s, uint32_t *node)
{
	size_t n = s->message->n_location_id;
	uint32_t depth;

	if (!array_room(&r->path, n, &r->cap_path))
		return err_nomem();
	*node = sample_parent(r, s);
	depth = r->s->nodes[*node].depth;
	r->last_top = s->top;
	for (size_t i = s->shared; i < n; i++) {
		uint64_t id = s->message->location_id[n - 1 - i];
		uint32_t at = pprof_ids_find(&r->locations, id);

		if (at == INTERN_NONE)
			return err_new(ERR_REQUEST, 422, "pprof: location "
			    "%llu is not there", (unsigned long long)id);
		for (uint32_t k = 0; k < r->places[at].n; k++)
			*node = stacks_child_at(r->s, *node,
			    r->frames[r->places[at].first + k], ++depth);
		r->path[i] = (struct pprof_step){id, *node};
	}
	r->n_path = n;
	return NULL;
}

static const struct err *
sample_put(struct pprof_reader *r, size_t i, const struct sample *s)
{
	size_t columns = r->p->n_sample_type;
	const Pprof__Sample *m = s->message;
	const struct err *e;

	if (m->n_value != columns)
		return pprof_bad("sample", i, "not one value for each type");
	for (size_t k = 0; k < columns; k++) {
		if (m->value[k] < 0)
			return pprof_bad("sample", i, "a negative value");
		r->values[i * columns + k] = m->value[k];
	}
	if ((e = sample_stack(r, s, &r->nodes[i])) != NULL)
		return e;
	return (i & 1023) == 0 ? stacks_error(r->s) : NULL;
}

/* ---- all of them ---- */

static const struct err *
sample_unpack(struct pprof_reader *r, struct sample *s)
{
	const uint8_t *p;
	size_t n;

	while (wire_field(&r->wire, &p, &n) != TAG_SAMPLE)
		;
	arena_clear(&s->arena);
	s->message = pprof__sample__unpack(&s->arena.allocator, n, p);
	if (s->message != NULL)
		return NULL;
	if (s->arena.over)
		return err_new(ERR_REQUEST, 413,
		    "pprof: too many messages for a sample of %zu bytes", n);
	return pprof_damaged(r);
}

static const struct err *
samples_read(struct pprof_reader *r, struct sample s[2])
{
	const struct err *e = NULL;

	if (r->n_samples > 0)
		e = sample_unpack(r, &s[0]);
	for (size_t i = 0; i < r->n_samples && e == NULL; i++) {
		struct sample *now = &s[i & 1], *next = &s[~i & 1];

		e = sample_begin(r, now);
		if (e == NULL && i + 1 < r->n_samples)
			e = sample_unpack(r, next);
		if (e == NULL)
			e = sample_put(r, i, now);
	}
	return e != NULL ? e : stacks_error(r->s);
}

const struct err *
pprof_samples(struct pprof_reader *r)
{
	size_t n = r->n_samples;
	const struct err *e;
	struct sample s[2];

	r->last_top = UINT32_MAX;
	r->nodes = pprof_alloc(r, n, sizeof(*r->nodes));
	r->values = pprof_alloc(r, n * r->p->n_sample_type,
	    sizeof(*r->values));
	if (r->nodes == NULL || r->values == NULL)
		return pprof_full(r);
	for (int i = 0; i < 2; i++)
		arena_init(&s[i].arena, r->arena.limit);
	e = samples_read(r, s);
	for (int i = 0; i < 2; i++)
		arena_fini(&s[i].arena);
	if (r->numeric > 0)
		stacks_skip(r->s, "labels that are numbers", r->numeric);
	if (r->requests > 0)
		stacks_skip(r->s, "ids of single requests", r->requests);
	if (r->unnamed > 0)
		stacks_skip(r->s, "lines without a function", r->unnamed);
	return e;
}
