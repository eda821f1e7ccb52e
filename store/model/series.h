/*
 * What a number belongs to: series, label, frame, selector.
 *
 * A series is one line through time: a profile of a service, a gauge, a
 * counter or a latency histogram.  It is identified by all fields of its
 * descriptor; two descriptors that differ in any of them are two series.
 *
 *	kind       value of a slot                       folds by
 *	flow       (stack, count) list                   adding
 *	stock      (stack, amount) list, observations    adding; answers divide
 *	                                                 by the observations
 *	gauge      min, max, sum, count, last            itself
 *	counter    increase, last raw value              adding, newest
 *	histogram  (bucket, count) list, sum, min, max   adding
 *
 * Values are int64.  A profile's are counts: one count is `period` units
 * (10,101,010 nanoseconds of CPU at 99 Hz; 1 for bytes).  A metric's are the
 * real value times 10^scale.
 */
#ifndef STORE_SERIES_H
#define STORE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct buf;
struct cur;

enum series_kind {
	SERIES_FLOW = 1,
	SERIES_STOCK = 2,
	SERIES_GAUGE = 3,
	SERIES_COUNTER = 4,
	SERIES_HISTOGRAM = 5
};

struct label {
	const char *name, *value;
};

/*
 * A descriptor borrows its strings.  `labels` are sorted by name, names
 * unique.  For profiles name is the type ("cpu", "inuse"), unit what a
 * period counts ("nanoseconds", "bytes"), and labels hold "service" alone:
 * process, pool and cgroup live in the label set of each stack.
 */
struct series_desc {
	enum series_kind kind;
	const char *name;
	const char *unit; /* base unit: seconds, bytes, ratio, ... or "" */
	int64_t period;   /* profiles: units a count; else 0 */
	uint8_t scale;    /* metrics: decimal digits after the point, <= 18 */
	const struct label *labels;
	size_t n_labels;
};

static inline bool
series_is_profile(enum series_kind kind)
{
	return kind == SERIES_FLOW || kind == SERIES_STOCK;
}

/* Units of one sample where counts are of samples, else 0: bytes of a heap and
 * what was pushed in nanoseconds alone are no samples, nor is a mean. */
int64_t series_sample_units(enum series_kind kind, const char *unit,
    int64_t period);

/* Why profiles are not added: unit and kind of both. */
#define SERIES_MIXED "the selector matches profiles in %s (%s) and in %s " \
	"(%s): __unit__ or __kind__ in it tells them apart"

/* "flow", "stock", "gauge", "counter", "histogram". */
const char *series_kind_name(enum series_kind kind);

/* The value of a label, or NULL. */
const char *label_find(const struct label *labels, size_t n, const char *name);

/* 10^scale for scale <= 18. */
int64_t scale_factor(uint8_t scale);

/*
 * A frame of a stack.  `name` is what people see and is never empty: where no
 * symbol is known it is "module+0xoffset".  Module and build id may be "".
 */
enum frame_kind {
	FRAME_NATIVE = 1,     /* machine code with a symbol */
	FRAME_ADDRESS = 2,    /* machine code without one */
	FRAME_KERNEL = 3,     /* kernel or module function */
	FRAME_BPF = 4,        /* a BPF program */
	FRAME_JIT = 5,        /* named by a perf map */
	FRAME_INLINED = 6,    /* inlined into the frame above it */
	FRAME_MANAGED = 7,    /* a name that an agent pushed */
	FRAME_MARK = 8        /* not code: "[no process]", "[truncated]" */
};

struct frame {
	enum frame_kind kind;
	const char *name;
	const char *module;   /* file name without folder, "[kernel]", or "" */
	const char *build_id; /* hexadecimal, or "" */
	uint64_t offset;      /* of the function's entry in the module, or 0 */
};

const char *frame_kind_name(enum frame_kind kind);

/*
 * Prometheus's selector: name{label="v",other!="v",pool=~"worker.*"}.
 * A missing label equals "".  Regular expressions are those of pattern.h,
 * anchored at both ends.
 */
struct selector;

/* Parses `text`; ERR_REQUEST 400 with field "query" and the byte offset, of an
 * expression that in the expression. */
const struct err *selector_parse(const char *text, struct selector **out);
void selector_free(struct selector *s);
/* The metric or profile name, or "" when the selector has none. */
const char *selector_name(const struct selector *s);
/* Does a series match?  Matchers on labels that only stacks carry (see
 * selector_match_stack) are ignored here for profiles. */
bool selector_match_series(const struct selector *s,
    const struct series_desc *d);
/* The same in two halves, for who asks about many series: by name, unit and
 * kind, as matchers on "__name__" and the like see them; and by the labels,
 * which are those of a profile or not. */
bool selector_match_name(const struct selector *s,
    const struct series_desc *d);
bool selector_match_labels(const struct selector *s,
    const struct series_desc *d);
/* Does a stack's label set match, given that its series does? */
bool selector_match_stack(const struct selector *s,
    const struct series_desc *d, const struct label *labels, size_t n);
/* Whoever has matched asks before an answer is made of it: did each match
 * have one?  Errors: ERR_REQUEST 400 with field "query".  NULL is fine. */
const struct err *selector_check(const struct selector *s);
/* Does it demand anything of that label? */
bool selector_has(const struct selector *s, const char *label);
/* Has it matchers on other labels than a profile series always has? */
bool selector_asks_stacks(const struct selector *s);
/* ... or than one that has these too? */
bool selector_asks_beyond(const struct selector *s, const struct label *labels,
    size_t n);
/* Does fn say yes of one of the names that the selector takes?  True, too,
 * where it takes more than one could list. */
bool selector_may_name(const struct selector *s,
    bool (*fn)(const void *arg, const char *name), const void *arg);
/* The value V where the selector demands label="V"; else NULL. */
const char *selector_equals(const struct selector *s, const char *label);

#endif
