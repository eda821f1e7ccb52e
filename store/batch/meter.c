/*
 * A hash of series by the bytes of their descriptors, and one list of
 * readings in the order in which they came.
 */
#include "store/batch/meter.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/batch/batch.h"

#define METER_LABELS 16

/* What is known of a series; its key holds kind, scale and all strings. */
struct meter_series {
	int64_t raw, raw_ns; /* and when it was read */
	uint64_t used; /* number of the last close that saw it, or will */
	bool known;    /* raw is valid */
	uint32_t in_batch;  /* number in the batch that is being filled */
	uint64_t batch_mark;
};

struct meter_reading {
	uint32_t series;
	int64_t from_ns; /* since when a counter's increase grew; or time_ns */
	int64_t time_ns;
	int64_t value; /* gauge, or a counter's increase */
	int64_t raw;   /* counter */
};

struct meter {
	uint64_t slot_ns;
	uint64_t closes;
	struct intern keys;
	struct meter_series *series;
	size_t cap_series;
	struct meter_reading *readings;
	size_t n_readings, cap_readings;
	struct buf key;
	struct meter_stats stats;
};

struct meter *
meter_new(uint64_t slot_ns)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (m != NULL)
		m->slot_ns = slot_ns;
	return m;
}

void
meter_free(struct meter *m)
{
	if (m == NULL)
		return;
	intern_fini(&m->keys);
	buf_fini(&m->key);
	free(m->series);
	free(m->readings);
	free(m);
}

/* ---- series ---- */

static void
meter_put_string(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s) + 1);
}

static void
meter_put_key(struct buf *b, const struct series_desc *d)
{
	buf_clear(b);
	buf_put_u8(b, (uint8_t)d->kind);
	buf_put_u8(b, d->scale);
	buf_put_u8(b, (uint8_t)d->n_labels);
	meter_put_string(b, d->name);
	meter_put_string(b, d->unit);
	for (size_t i = 0; i < d->n_labels; i++) {
		meter_put_string(b, d->labels[i].name);
		meter_put_string(b, d->labels[i].value);
	}
}

static const char *
meter_get_string(const char **p)
{
	const char *s = *p;

	*p += strlen(s) + 1;
	return s;
}

/* The descriptor that a key was made of; strings live as long as the key. */
static void
meter_read_key(const char *p, struct series_desc *d, struct label *labels)
{
	d->kind = (enum series_kind)p[0];
	d->scale = (uint8_t)p[1];
	d->n_labels = (size_t)p[2];
	d->period = 0;
	d->labels = labels;
	p += 3;
	d->name = meter_get_string(&p);
	d->unit = meter_get_string(&p);
	for (size_t i = 0; i < d->n_labels; i++) {
		labels[i].name = meter_get_string(&p);
		labels[i].value = meter_get_string(&p);
	}
}

static bool
meter_room_series(struct meter *m, size_t n)
{
	size_t old = m->cap_series;

	if (!array_room(&m->series, n + 1, &m->cap_series))
		return false;
	if (m->cap_series > old)
		memset(m->series + old, 0,
		    (m->cap_series - old) * sizeof(*m->series));
	return true;
}

/* The number of a series, new or old, or INTERN_NONE. */
static uint32_t
meter_find(struct meter *m, const struct series_desc *d)
{
	uint32_t i;

	if (d->n_labels > METER_LABELS)
		return INTERN_NONE;
	meter_put_key(&m->key, d);
	if (m->key.failed)
		return INTERN_NONE;
	i = intern_find(&m->keys, m->key.data, m->key.len);
	if (i == INTERN_NONE && m->keys.n < METER_SERIES_MAX &&
	    meter_room_series(m, m->keys.n))
		i = intern_put(&m->keys, m->key.data, m->key.len);
	if (i != INTERN_NONE)
		m->series[i].used = m->closes;
	return i;
}

/* ---- readings ---- */

static void
meter_read(struct meter *m, const struct meter_reading *r)
{
	if (m->n_readings >= METER_READINGS_MAX ||
	    !array_room(&m->readings, m->n_readings + 1, &m->cap_readings)) {
		m->stats.dropped++;
		return;
	}
	m->readings[m->n_readings] = *r;
	if (r->from_ns > r->time_ns) /* the clock went back */
		m->readings[m->n_readings].from_ns = r->time_ns;
	m->n_readings++;
}

void
meter_gauge(struct meter *m, const struct series_desc *d, int64_t time_ns,
    int64_t value)
{
	uint32_t i = meter_find(m, d);

	if (i == INTERN_NONE) {
		m->stats.dropped++;
		return;
	}
	meter_read(m, &(struct meter_reading){i, time_ns, time_ns, value, 0});
}

void
meter_counter(struct meter *m, const struct series_desc *d, int64_t time_ns,
    int64_t raw)
{
	uint32_t i = meter_find(m, d);
	struct meter_series *s;
	int64_t increase = 0, from_ns;

	if (i == INTERN_NONE || raw < 0) {
		m->stats.dropped++;
		return;
	}
	s = &m->series[i];
	if (s->known && raw >= s->raw) {
		increase = raw - s->raw;
	} else if (s->known) {
		increase = raw;
		m->stats.resets++;
	}
	from_ns = s->known ? s->raw_ns : time_ns;
	s->known = true;
	s->raw = raw;
	s->raw_ns = time_ns;
	meter_read(m, &(struct meter_reading){i, from_ns, time_ns, increase,
	    raw});
}

void
meter_counter_steady(struct meter *m, const struct series_desc *d,
    int64_t time_ns, int64_t raw)
{
	uint32_t i = meter_find(m, d);

	if (i != INTERN_NONE && m->series[i].known && raw < m->series[i].raw)
		raw = m->series[i].raw;
	meter_counter(m, d, time_ns, raw);
}

void
meter_increase(struct meter *m, const struct series_desc *d,
    struct meter_span span, int64_t increase, int64_t first_raw)
{
	uint32_t i = meter_find(m, d);
	struct meter_series *s;

	if (i == INTERN_NONE || increase < 0) {
		m->stats.dropped++;
		return;
	}
	s = &m->series[i];
	if (!s->known)
		s->raw = first_raw;
	else if (__builtin_add_overflow(s->raw, increase, &s->raw))
		s->raw = increase;
	s->known = true;
	s->raw_ns = span.until_ns;
	meter_read(m, &(struct meter_reading){i, span.from_ns, span.until_ns,
	    increase, s->raw});
}

/* ---- the end of a slot ---- */

static uint32_t
meter_batch_series(struct meter *m, uint32_t i, struct batch *b,
    enum series_kind *kind)
{
	const char *key = intern_at(&m->keys, i);
	struct meter_series *s = &m->series[i];
	struct label labels[METER_LABELS];
	struct series_desc d;

	*kind = (enum series_kind)key[0];
	if (s->batch_mark != m->closes) {
		meter_read_key(key, &d, labels);
		s->in_batch = batch_series(b, &d);
		s->batch_mark = m->closes;
	}
	return s->in_batch;
}

/* Whole milliseconds, but not before the slot: what is below them is how busy
 * the host was, and would take most of the bytes of a metric. */
static int64_t
meter_time(int64_t time_ns, int64_t start)
{
	int64_t whole = time_ns - time_ns % NS_PER_MS;

	return whole < start ? start : whole;
}

static void
meter_put(struct meter *m, const struct meter_reading *r, uint64_t slot,
    struct batch *b)
{
	int64_t start = (int64_t)(slot * m->slot_ns);
	int64_t time_ns = meter_time(r->time_ns, start);
	enum series_kind kind;
	uint32_t series = meter_batch_series(m, r->series, b, &kind);

	if (kind == SERIES_GAUGE)
		batch_add_gauge(b, series, slot, time_ns, r->value);
	else
		batch_add_counter(b, series, slot, time_ns, r->value, r->raw);
}

/* Puts what grew before the end of a slot, to the nearest, and leaves the
 * rest. */
static void
meter_part(struct meter *m, struct meter_reading *r, uint64_t slot,
    struct batch *b)
{
	int64_t end = (int64_t)((slot + 1) * m->slot_ns);
	uint128 span = (uint128)(r->time_ns - r->from_ns);
	uint128 grown = (uint128)r->value * (uint128)(end - r->from_ns);
	struct meter_reading part = *r;

	part.time_ns = end - 1;
	part.value = (int64_t)((2 * grown + span) / (2 * span));
	part.raw = r->raw - (r->value - part.value);
	meter_put(m, &part, slot, b);
	r->value -= part.value;
	r->from_ns = end;
}

/* Interns the keys that stay and numbers them; false when out of memory. */
static bool
meter_keep(const struct meter *m, struct intern *keep, uint32_t *number)
{
	for (uint32_t i = 0; i < m->keys.n; i++) {
		number[i] = INTERN_NONE;
		if (m->series[i].used + METER_IDLE_SLOTS <= m->closes)
			continue;
		number[i] = intern_put(keep, intern_at(&m->keys, i),
		    m->keys.items[i].len);
		if (number[i] == INTERN_NONE)
			return false;
	}
	return true;
}

/* Forgets idle series; numbers change, so readings are renumbered. */
static void
meter_forget(struct meter *m)
{
	struct intern keep = {0};
	uint32_t *number = malloc((m->keys.n + 1) * sizeof(*number));

	if (number == NULL || !meter_keep(m, &keep, number)) {
		intern_fini(&keep);
		free(number);
		return;
	}
	for (uint32_t i = 0; i < m->keys.n; i++) {
		if (number[i] != INTERN_NONE)
			m->series[number[i]] = m->series[i];
	}
	memset(m->series + keep.n, 0,
	    (m->keys.n - keep.n) * sizeof(*m->series));
	for (size_t r = 0; r < m->n_readings; r++)
		m->readings[r].series = number[m->readings[r].series];
	intern_fini(&m->keys);
	m->keys = keep;
	free(number);
}

void
meter_close(struct meter *m, uint64_t slot, struct batch *b)
{
	int64_t end = (int64_t)((slot + 1) * m->slot_ns);
	size_t kept = 0;

	m->closes++;
	for (size_t i = 0; i < m->n_readings; i++) {
		struct meter_reading *r = &m->readings[i];

		if (r->time_ns < end) {
			meter_put(m, r, slot, b);
			continue;
		}
		if (r->from_ns < end)
			meter_part(m, r, slot, b);
		m->readings[kept++] = *r;
	}
	m->n_readings = kept;
	for (size_t i = 0; i < kept; i++)
		m->series[m->readings[i].series].used = m->closes;
	if (m->closes % METER_IDLE_SLOTS == 0 && m->keys.n > 0)
		meter_forget(m);
}

void
meter_stats(const struct meter *m, struct meter_stats *out)
{
	*out = m->stats;
	out->series = m->keys.n;
}
