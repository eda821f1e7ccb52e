/*
 * Small questions to the store that several pages ask: a metric over one
 * span, the states of the collector's sources.
 */
#ifndef FCGI_MEASURE_H
#define FCGI_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct buf;
struct err;
struct selector;
struct series_desc;
struct type;
struct writer;

#define MEASURE_SERIES_MAX 16384

/* What an answer says whose range store_kept_range() has widened. */
#define MEASURE_KEPT "of this time whole spans of slots are kept only, to "    \
	"which the range was widened"

/* Rounds down and up to a slot of the store. */
int64_t measure_floor(const struct store *s, int64_t ns);
int64_t measure_ceil(const struct store *s, int64_t ns);

/* All series that q's selector matches, at most q's max_series, with one
 * point each, over the slots that touch q's range, or the whole spans of them
 * that retention has left: q tells which afterwards.  metric_series_free()
 * them. */
const struct err *measure_span(struct store *s, struct metric_query *q,
    bool *widened, struct metric_series **out, size_t *n);

/* The same of a selector's text. */
const struct err *measure_once(struct store *s, const char *selector,
    int64_t from_ns, int64_t until_ns, struct metric_series **out, size_t *n);

/* The value of a label of a series, or "". */
const char *measure_label(const struct metric_series *m, const char *name);

/* Is it of a service, or an instance of one, that a selector of profiles
 * demands? */
bool measure_concerns(const struct metric_series *m,
    const struct selector *selector);

/* What a source last said of itself. */
struct source_state {
	char name[64];
	char state[32]; /* "attached", "not attached", "degraded", "off" */
	char why[256];
	int64_t time_ns; /* when it said so */
};

/* The newest state of each source within 2 h before now, sorted by name.
 * The caller frees the array. */
const struct err *measure_sources(struct store *s, int64_t now_ns,
    struct source_state **out, size_t *n);

#define MEASURE_LOST "memlens_profile_samples_lost_total"
#define MEASURE_BROKEN "memlens_profile_stacks_broken_total"
/* what the lost samples of memory stand for */
#define MEASURE_LOST_BYTES "memlens_profile_lost_bytes_total"
#define MEASURE_LOST_OBJECTS "memlens_profile_lost_objects_total"
/* all of them */
#define MEASURE_FAULTS                                                         \
	"{__name__=~\"" MEASURE_LOST "|" MEASURE_BROKEN "|"                    \
	MEASURE_LOST_BYTES "|" MEASURE_LOST_OBJECTS "\"}"
#define MEASURE_SAMPLES "memlens_profile_samples_total"
/* the same of each service (collector/engine/service_faults.h) */
#define MEASURE_SERVICE_SAMPLES "memlens_service_samples_total"
#define MEASURE_SERVICE_LOST "memlens_service_samples_lost_total"
#define MEASURE_SERVICE_BROKEN "memlens_service_stacks_broken_total"
#define MEASURE_SERVICE_LOST_BYTES "memlens_service_lost_bytes_total"
#define MEASURE_SERVICE_LOST_OBJECTS "memlens_service_lost_objects_total"

/* Writes {"reason": n, ...}: the increases of those series of this name and
 * of a source that are not 0, each reason once. */
void measure_put_reasons(struct writer *w, const struct metric_series *series,
    size_t n, const char *name, const char *source);

/*
 * What profiles lack in a range: those of the services that a selector
 * demands, or of the whole host where it demands none, or where nobody has
 * counted by service (imports, versions before that).
 */
struct measure_faults {
	struct metric_series *series, *host;
	size_t n, n_host;
	bool of_service; /* else `series` does not count */
};

/* measure_faults_fini() after any outcome. */
const struct err *measure_faults(struct store *s,
    const struct selector *selector, int64_t from_ns, int64_t until_ns,
    struct measure_faults *out);
void measure_faults_fini(struct measure_faults *f);

/* What the service has is not ours, but others': we have lost nothing of it. */
void measure_faults_void(struct measure_faults *f);

/* Has that source lost anything, or the one beside it, if not NULL, that may
 * have been of the answer? */
bool measure_lost(const struct measure_faults *f, const char *source,
    const char *beside);

/* Why an answer of a type may lack something: by what of its records was lost;
 * NULL: by nothing.  `none`: and nothing was seen. */
const char *measure_why_lost(const struct measure_faults *f,
    const struct type *type, bool none);

/* Members of an open object: "lost" and "broken", by reason, and "faults",
 * whose they are: "service" or "host".  What was lost before anybody knew
 * whose it was is the host's, and among a service's too: "lost_on_host" says
 * which of them.  What `beside` has lost, if not NULL, is among it.  Of our
 * library's memory, the same in bytes and objects. */
void measure_put_faults(struct writer *w, const struct measure_faults *f,
    const char *source, const char *beside);

/* Is it a source whose lost samples are known in bytes and objects, too? */
bool measure_is_memory(const char *source);

/* A label's value as it stands between quotes. */
void measure_put_quoted(struct buf *out, const char *value);

/*
 * The text of a selector: name{service="kv",instance="2",MORE}, ended by a NUL,
 * where service and instance are any text, NULL: not asked for; and `more` are
 * further matchers, or "".
 */
void measure_put_selector(struct buf *out, const char *name,
    const char *service, const char *instance, const char *more);

/* The same parsed; selector_free() it. */
const struct err *measure_selector(const char *name, const char *service,
    const char *instance, const char *more, struct selector **out);

/* measure_once() of such a text. */
const struct err *measure_once_of(struct store *s, const char *name,
    const char *service, const char *more, const int64_t range[2],
    struct metric_series **out, size_t *n);

/* The member "labels" of a series. */
void measure_put_labels(struct writer *w, const struct series_desc *d);

/* How many requests the counters of a selector counted in the range, over
 * instances and all other labels; NaN where they have no data in it.  Errors,
 * with the field "requests": 400 for what counts none, a bucket or a sum; 404
 * where no such counter is kept at all. */
const struct err *measure_requests(struct store *s, const char *text,
    int64_t from_ns, int64_t until_ns, double *sum);

/* Is it a quantile of a Prometheus summary, of which there is no mean? */
bool measure_is_quantile(const struct series_desc *d);

#endif
