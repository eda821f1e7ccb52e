/*
 * A table says what becomes of each LevelDB figure; pages of Prometheus keep
 * their names, and their labels give way to ours under "exported_".
 */
#include "collector/scrape/scrape_take.h"

#include <stdio.h>
#include <string.h>

#include "fcgi/format/in/leveldb_stats.h"
#include "fcgi/format/in/prometheus.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/batch/meter.h"

static void
take_put(const struct scrape_reading *r, const struct series_desc *d,
    int64_t value)
{
	if (d->kind == SERIES_COUNTER)
		meter_counter(r->meter, d, r->now_ns, value);
	else
		meter_gauge(r->meter, d, r->now_ns, value);
}

/* ---- LevelDB ---- */

struct take_metric {
	const char *name, *unit;
	enum series_kind kind;
	uint8_t scale;
};

static const struct take_metric leveldb_metrics[LEVELDB_FIELDS] = {
    [LEVELDB_HIT_RATIO] = {"leveldb_cache_hit_ratio", "ratio", SERIES_GAUGE,
        6},
    [LEVELDB_MEMORY] = {"leveldb_approximate_memory_bytes", "bytes",
        SERIES_GAUGE, 0},
    [LEVELDB_RESIDENT] = {"leveldb_resident_memory_bytes", "bytes",
        SERIES_GAUGE, 0},
    [LEVELDB_MAX_RESIDENT] = {"leveldb_max_resident_memory_bytes", "bytes",
        SERIES_GAUGE, 0},
    [LEVELDB_READS] = {"leveldb_block_reads_total", "", SERIES_COUNTER, 0},
    [LEVELDB_WRITES] = {"leveldb_block_writes_total", "", SERIES_COUNTER, 0},
};

static const struct {
	struct take_metric metric;
	size_t offset; /* of an int64_t in struct leveldb_level */
} level_metrics[] = {
    {{"leveldb_level_files", "", SERIES_GAUGE, 0},
        offsetof(struct leveldb_level, files)},
    {{"leveldb_level_size_bytes", "bytes", SERIES_GAUGE, 0},
        offsetof(struct leveldb_level, size_bytes)},
    {{"leveldb_level_compaction_seconds_total", "seconds", SERIES_COUNTER,
         0},
        offsetof(struct leveldb_level, compaction_seconds)},
    {{"leveldb_level_read_bytes_total", "bytes", SERIES_COUNTER, 0},
        offsetof(struct leveldb_level, read_bytes)},
    {{"leveldb_level_write_bytes_total", "bytes", SERIES_COUNTER, 0},
        offsetof(struct leveldb_level, write_bytes)},
};

static void
take_metric(const struct scrape_reading *r, const struct take_metric *m,
    const char *level, int64_t value)
{
	struct label labels[] = {{"instance", r->instance},
	    {"level", level}, {"service", r->service}};
	struct series_desc d = {m->kind, m->name, m->unit, 0, m->scale,
	    labels, 3};

	if (level == NULL) {
		labels[1] = labels[2];
		d.n_labels = 2;
	}
	take_put(r, &d, value);
}

static void
take_level(const struct scrape_reading *r, const struct leveldb_level *l)
{
	char level[16];
	int64_t value;

	snprintf(level, sizeof(level), "%d", l->level);
	for (size_t i = 0; i < sizeof(level_metrics) /
	    sizeof(level_metrics[0]); i++) {
		memcpy(&value, (const char *)l + level_metrics[i].offset,
		    sizeof(value));
		take_metric(r, &level_metrics[i].metric, level, value);
	}
}

const struct err *
scrape_take_leveldb(const struct scrape_reading *r, const char *text,
    size_t n, struct scrape_counts *counts)
{
	struct leveldb_stats stats;
	const struct err *e = leveldb_stats_parse(text, n, &stats);

	for (int i = 0; i < LEVELDB_FIELDS; i++) {
		if ((stats.have >> i & 1) == 0)
			continue;
		take_metric(r, &leveldb_metrics[i], NULL, stats.field[i]);
		counts->taken++;
	}
	for (size_t i = 0; i < stats.n_levels; i++)
		take_level(r, &stats.levels[i]);
	counts->taken += stats.n_levels;
	counts->bad += e != NULL;
	return e;
}

/* ---- Prometheus ---- */

struct take_page {
	const struct scrape_reading *r;
	struct scrape_counts *counts;
	uint64_t taken; /* of this page: counts go on for ever */
	struct intern seen; /* its series */
	struct buf key;
};

/* Is it the first value of its series? */
static bool
take_first(struct take_page *p, const struct series_desc *d)
{
	uint32_t n = p->seen.n;

	buf_clear(&p->key);
	buf_put(&p->key, d->name, strlen(d->name) + 1);
	for (size_t i = 0; i < d->n_labels; i++) {
		const struct label *l = &d->labels[i];

		buf_put(&p->key, l->name, strlen(l->name) + 1);
		buf_put(&p->key, l->value, strlen(l->value) + 1);
	}
	return intern_put(&p->seen, p->key.data, p->key.len) == n;
}

/* Puts a label in its place by name. */
static void
take_label(struct label *labels, size_t *n, struct label l)
{
	size_t at = (*n)++;

	for (; at > 0 && strcmp(labels[at - 1].name, l.name) > 0; at--)
		labels[at] = labels[at - 1];
	labels[at] = l;
}

/* The page's labels and ours, sorted; false when they are too many,
 * or two have one name. */
static bool
take_labels(const struct prom_sample *s, const struct scrape_reading *r,
    struct label *labels, size_t *n)
{
	struct label own[] = {{"instance", r->instance},
	    {"service", r->service}};

	*n = 0;
	if (s->n_labels + 2 > PROM_LABELS_MAX)
		return false;
	for (size_t i = 0; i < s->n_labels; i++) {
		struct label l = s->labels[i];

		if (strcmp(l.name, "instance") == 0)
			l.name = "exported_instance";
		else if (strcmp(l.name, "service") == 0)
			l.name = "exported_service";
		take_label(labels, n, l);
	}
	for (size_t i = 0; i < 2; i++)
		take_label(labels, n, own[i]);
	for (size_t i = 1; i < *n; i++)
		if (strcmp(labels[i - 1].name, labels[i].name) == 0)
			return false; /* it had an exported_ one already */
	return true;
}

static void
take_sample(void *arg, const struct prom_sample *s)
{
	struct take_page *p = arg;
	struct label labels[PROM_LABELS_MAX];
	struct series_desc d;
	int64_t value;
	size_t n;

	if (s->kind == PROM_NAN) {
		p->counts->no_data++;
		return;
	}
	prom_describe(s, &d);
	if (s->kind != PROM_NUMBER ||
	    p->taken >= p->r->max_samples ||
	    !prom_scale(s->value, d.scale, &value) ||
	    (d.kind == SERIES_COUNTER && value < 0) ||
	    !take_labels(s, p->r, labels, &n)) {
		p->counts->refused++;
		return;
	}
	d.labels = labels;
	d.n_labels = n;
	if (!take_first(p, &d)) {
		p->counts->again++;
		return;
	}
	take_put(p->r, &d, value);
	p->counts->taken++;
	p->taken++;
}

const struct err *
scrape_take_prometheus(const struct scrape_reading *r, const char *text,
    size_t n, struct scrape_counts *counts)
{
	struct take_page page = {.r = r, .counts = counts};
	struct prom_counts found;
	const struct err *e = prom_parse(text, n, take_sample, &page, &found);

	intern_fini(&page.seen);
	buf_fini(&page.key);
	counts->bad += found.bad;
	if (e == NULL && found.samples == 0 && found.bad > 0)
		return err_new(ERR_FORMAT, 0, "not a Prometheus page");
	return e;
}

/* ---- the pull itself ---- */

void
scrape_take_outcome(const struct scrape_reading *r, const char *page, int up,
    int64_t duration_ns, uint64_t again)
{
	struct label engine[] = {{"instance", r->instance},
	    {"service", r->service}};
	struct label labels[] = {{"instance", r->instance}, {"page", page},
	    {"service", r->service}};
	struct series_desc leveldb = {SERIES_GAUGE, "leveldb_up", "", 0, 0,
	    engine, 2};
	struct series_desc any = {SERIES_GAUGE, "memlens_scrape_up", "", 0, 0,
	    labels, 3};
	struct series_desc duration = {SERIES_GAUGE,
	    "memlens_scrape_duration_seconds", "seconds", 0, 9, labels, 3};
	struct series_desc twice = {SERIES_COUNTER,
	    "memlens_scrape_duplicates_total", "", 0, 0, labels, 3};

	if (strcmp(page, "leveldb") == 0)
		meter_gauge(r->meter, &leveldb, r->now_ns, up);
	meter_gauge(r->meter, &any, r->now_ns, up);
	meter_counter(r->meter, &twice, r->now_ns, (int64_t)again);
	if (duration_ns >= 0)
		meter_gauge(r->meter, &duration, r->now_ns, duration_ns);
}
