/*
 * Each byte is read twice: once by memchr() for the line's end, once eight
 * at a time for frames' ends and their hash.
 */
#include "fcgi/format/in/folded.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_cache.h"
#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"

struct folded_part {
	const char *p;
	uint32_t n, hash;
};

#define PARTS 32 /* frames scanned at a time */

/* A line of kept stacks that is not looked up yet. */
struct folded_line {
	struct fingerprint print;
	const char *p, *end; /* of the stack */
	int64_t count;
	uint32_t node;
};

#define LINES 16 /* looked up at a time */

#define SMALL (1u << 16) /* nodes of a tree whose stacks go one by one */

/* Stacks of others that are not put yet. */
struct folded_many {
	struct stacks_path paths[STACKS_MANY];
	int64_t counts[STACKS_MANY];
	uint32_t frames[32 * STACKS_MANY];
	size_t n, n_frames;
};

struct folded {
	struct stacks *s;
	struct stacks_cache frames; /* by text, kind's mark included */
	uint32_t type;
	bool lines; /* no counts: each line is one */
	uint64_t line, stacks, rounded;
	uint64_t bad, negative; /* lines; bad: those without a count, too */
	uint64_t first_bad, large; /* a line's number; 0: none */
	struct folded_line ahead[LINES];
	size_t n_ahead;
	size_t small; /* nodes */
	struct folded_many many;
};

const struct stacks_type folded_samples = {"samples", "samples", 1,
    SERIES_FLOW};

struct folded *
folded_new(struct stacks *s, const struct stacks_type *type)
{
	struct folded *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->s = s;
	f->small = SMALL;
	f->type = stacks_type(s, type == NULL ? &folded_samples : type);
	return f;
}

void
folded_together(struct folded *f, size_t nodes)
{
	f->small = nodes;
}

int
folded_kind(const char *name, size_t *n)
{
	static const struct {
		char mark;
		enum frame_kind kind;
	} kinds[] = {
	    {'k', FRAME_KERNEL}, {'i', FRAME_INLINED}, {'j', FRAME_JIT},
	};
	const char *end = name + *n;

	if (*n > 4 && memcmp(end - 4, "_[", 2) == 0 && end[-1] == ']') {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (kinds[i].mark == end[-2]) {
				*n -= 4;
				return (int)kinds[i].kind;
			}
		}
	}
	return FRAME_MANAGED;
}

static uint32_t
folded_new_frame(struct folded *f, uint32_t hash, const char *name, size_t n)
{
	size_t len = n;
	enum frame_kind kind = (enum frame_kind)folded_kind(name, &len);
	uint32_t frame = stacks_frame_named(f->s, kind, name, len);

	/* an entry that does not fit is made again the next time */
	if (n > 0)
		stacks_cache_add(&f->frames, hash, name, n, frame);
	return frame;
}

#define ONES 0x0101010101010101u

/* Bytes before the first ';' among the next eight; 8 where there is none. */
static inline size_t
folded_frame_end(uint64_t word)
{
	uint64_t x = word ^ ONES * ';';
	uint64_t zero = (x - ONES) & ~x & ONES * 0x80;

	return zero == 0 ? 8 : (size_t)__builtin_ctzll(zero) / 8;
}

/* The length of the frame at p, and its hash.  `limit` is where memory that
 * can be read ends; `inside`: eight bytes can be read at any p. */
static inline size_t
folded_scan(const char *p, const char *end, const char *limit, bool inside,
    uint32_t *hash)
{
	const char *at = p;
	uint64_t h = 0;

	for (;;) {
		size_t left = (size_t)(end - at), room = (size_t)(limit - at);
		uint64_t word = 0;
		size_t n;

		if (inside)
			memcpy(&word, at, 8);
		else
			memcpy(&word, at, room < 8 ? room : 8);
		n = folded_frame_end(word);
		if (n == 8 && left > 8) {
			h = stacks_cache_mix(h, word);
			at += 8;
			continue;
		}
		n = n < left ? n : left;
		if (n < 8)
			word &= ((uint64_t)1 << 8 * n) - 1;
		h = stacks_cache_mix(h, word);
		*hash = (uint32_t)h;
		return (size_t)(at - p) + n;
	}
}

/* A call for each frame is 3 % of a picture. */
static inline __attribute__((always_inline)) uint32_t
folded_frame(struct folded *f, const struct folded_part *part)
{
	uint32_t frame = part->n == 0 ? STACKS_CACHE_NONE
	    : stacks_cache_get(&f->frames, part->hash, part->p, part->n);

	return frame != STACKS_CACHE_NONE ? frame
	    : folded_new_frame(f, part->hash, part->p, part->n);
}

/*
 * Frames are scanned some at a time, and what their look-ups will touch is
 * fetched meanwhile: names of a large program do not fit into a near cache.
 * Returns how many up to PARTS, and moves on.
 */
static inline size_t
folded_some(struct folded *f, const char **at, const char *end,
    const char *limit, bool inside, struct folded_part *parts)
{
	const char *p = *at;
	size_t n = 0;

	for (; p < end && n < PARTS; n++) {
		parts[n].p = p;
		parts[n].n = (uint32_t)folded_scan(p, end, limit,
		    inside, &parts[n].hash);
		stacks_cache_fetch(&f->frames, parts[n].hash);
		p += parts[n].n + 1;
	}
	for (size_t i = 0; i < n; i++)
		stacks_cache_fetch_text(&f->frames, parts[i].hash);
	*at = p;
	return n;
}

static inline uint32_t
folded_node(struct folded *f, const char *p, const char *end,
    const char *limit, bool inside)
{
	struct folded_part parts[PARTS];
	uint32_t node = 0, depth = 0;

	while (p < end) {
		size_t n = folded_some(f, &p, end, limit, inside, parts);

		for (size_t i = 0; i < n; i++)
			node = stacks_child_at(f->s, node,
			    folded_frame(f, &parts[i]), ++depth);
	}
	return node;
}

/* The stacks of the lines ahead, which may have been met before, as these
 * bytes: all that the look-ups and values need was fetched meanwhile. */
static void
folded_put_ahead(struct folded *f, const char *limit)
{
	for (size_t i = 0; i < f->n_ahead; i++) {
		struct folded_line *l = &f->ahead[i];

		l->node = fingerprint_map_get(&f->s->lines, l->print);
		if (l->node == UINT32_MAX) {
			l->node = folded_node(f, l->p, l->end, limit,
			    limit - l->end >= 8);
			if (l->node != 0) /* else it is made again */
				fingerprint_map_add(&f->s->lines, l->print,
				    l->node);
		}
		stacks_prefetch(f->s, l->node, f->type);
	}
	for (size_t i = 0; i < f->n_ahead; i++)
		stacks_add(f->s, f->ahead[i].node, f->type,
		    f->ahead[i].count);
	f->n_ahead = 0;
}

static void
folded_put_known(struct folded *f, const char *p, const char *end,
    const char *limit, int64_t count)
{
	struct folded_line *l = &f->ahead[f->n_ahead++];

	*l = (struct folded_line){fingerprint_bytes(&f->s->key, p,
	    (size_t)(end - p)), p, end, count, 0};
	fingerprint_map_prefetch(&f->s->lines, l->print);
	if (f->n_ahead == LINES)
		folded_put_ahead(f, limit);
}

static void
folded_put_many(struct folded *f)
{
	struct folded_many *m = &f->many;

	stacks_put_many(f->s, m->paths, m->n);
	for (size_t i = 0; i < m->n; i++)
		stacks_prefetch(f->s, m->paths[i].node, f->type);
	for (size_t i = 0; i < m->n; i++)
		stacks_add(f->s, m->paths[i].node, f->type, m->counts[i]);
	m->n = m->n_frames = 0;
}

/* Takes a stack's frames behind those of the others; false where they do not
 * fit. */
static bool
folded_gather(struct folded *f, const char *p, const char *end,
    const char *limit)
{
	struct folded_many *m = &f->many;
	struct folded_part parts[PARTS];
	size_t n = m->n_frames;

	while (p < end) {
		size_t some = folded_some(f, &p, end, limit,
		    limit - end >= 8, parts);

		if (n + some > sizeof(m->frames) / sizeof(m->frames[0]))
			return false;
		for (size_t i = 0; i < some; i++)
			m->frames[n++] = folded_frame(f, &parts[i]);
	}
	m->paths[m->n] = (struct stacks_path){m->frames + m->n_frames,
	    (uint32_t)(n - m->n_frames), 0, 0};
	m->n_frames = n;
	return true;
}

/* One that is deeper than some together may be goes alone. */
static void
folded_put_new(struct folded *f, const char *p, const char *end,
    const char *limit, int64_t count)
{
	bool fits = folded_gather(f, p, end, limit);

	if (fits)
		f->many.counts[f->many.n++] = count;
	if (!fits || f->many.n == STACKS_MANY)
		folded_put_many(f);
	if (!fits)
		stacks_add(f->s, folded_node(f, p, end, limit,
		    limit - end >= 8), f->type, count);
}

static bool
folded_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
folded_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The digits [p, end) as a number; false beyond 63 bits. */
static bool
folded_number(const char *p, const char *end, int64_t *value)
{
	uint64_t n = 0;

	while (p < end && *p == '0')
		p++;
	if (end - p > 19)
		return false;
	for (; p < end; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	*value = (int64_t)n;
	return n <= INT64_MAX;
}

/*
 * Takes the count off the end of a line: the stack ends at the result.  NULL
 * where there is none, or, *count being -1, a negative one.  A fraction is
 * rounded, half up; a count that is too large is -1.
 */
static const char *
folded_count(const char *p, const char *end, int64_t *count, bool *rounded)
{
	const char *digits = end, *point = end;

	while (digits > p && folded_is_digit(digits[-1]))
		digits--;
	*rounded = digits > p && digits[-1] == '.';
	if (*rounded) {
		point = --digits;
		while (digits > p && folded_is_digit(digits[-1]))
			digits--;
	}
	if (digits == p || digits == point)
		return NULL;
	if (!folded_is_blank(digits[-1])) {
		if (digits[-1] == '-' && digits - p > 1 &&
		    folded_is_blank(digits[-2]))
			*count = -1;
		return NULL;
	}
	if (!folded_number(digits, point, count))
		*count = -1;
	else if (*rounded && end - point > 1 && *count < INT64_MAX)
		*count += point[1] >= '5';
	while (*rounded && ++point < end && *point == '0')
		;
	*rounded = *rounded && point < end;
	while (digits > p && folded_is_blank(digits[-1]))
		digits--;
	return digits;
}

static const char *
folded_trim(const char *p, const char *end)
{
	while (end > p &&
	    (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return end;
}

static void
folded_line(struct folded *f, const char *p, const char *end,
    const char *limit)
{
	const char *stack;
	int64_t count = 1;
	bool rounded = false;

	f->line++;
	end = folded_trim(p, end);
	if (p == end || (*p == '#' && !f->lines))
		return;
	stack = f->lines ? end : folded_count(p, end, &count, &rounded);
	if (stack == NULL) {
		f->negative += count < 0;
		if (f->bad++ == 0)
			f->first_bad = f->line;
		return;
	}
	f->stacks++;
	f->rounded += rounded;
	if (count < 0 && f->large == 0)
		f->large = f->line;
	if (count <= 0)
		return;
	if (f->s->kept && stack > p)
		folded_put_known(f, p, stack, limit, count);
	else if (f->s->n_nodes > f->small)
		folded_put_new(f, p, stack, limit, count);
	else
		stacks_add(f->s, limit - stack >= 8
		    ? folded_node(f, p, stack, limit, true)
		    : folded_node(f, p, stack, limit, false), f->type, count);
}

size_t
folded_feed(struct folded *f, const char *p, size_t n, bool last)
{
	const char *at = p, *limit = p + n;

	while (at < limit && stacks_error(f->s) == NULL) {
		const char *end = memchr(at, '\n', (size_t)(limit - at));

		if (end == NULL && !last)
			break;
		if (end == NULL)
			end = limit;
		folded_line(f, at, end, limit);
		at = end + 1;
	}
	folded_put_ahead(f, limit);
	folded_put_many(f);
	return at > limit ? n : (size_t)(at - p);
}

const struct err *
folded_finish(struct folded *f)
{
	const struct err *e = stacks_error(f->s);

	if (e == NULL && f->large > 0)
		e = err_new(ERR_REQUEST, 422, "line %llu: a count of more "
		    "than 63 bits hold", (unsigned long long)f->large);
	if (e == NULL && f->stacks == 0 && f->bad > 0)
		e = err_new(ERR_REQUEST, 422, f->negative == f->bad
		    ? "line %llu has a negative count"
		    : "line %llu is no folded stack: "
		    "frames with ';' between them, a blank and a count",
		    (unsigned long long)f->first_bad);
	if (f->bad > f->negative)
		stacks_skip(f->s, "lines without a count",
		    f->bad - f->negative);
	if (f->negative > 0)
		stacks_skip(f->s, "lines with a negative count", f->negative);
	if (f->rounded > 0)
		stacks_skip(f->s, "fractions of a count, rounded", f->rounded);
	stacks_cache_fini(&f->frames);
	free(f);
	return e;
}

static const struct err *
folded_parse_all(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type, bool lines)
{
	struct folded *f = folded_new(s, type);

	if (f == NULL)
		return err_nomem();
	f->lines = lines;
	if (n > 0)
		folded_feed(f, data, n, true);
	return folded_finish(f);
}

const struct err *
folded_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	return folded_parse_all(s, data, n, type, false);
}

const struct err *
folded_parse_lines(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	return folded_parse_all(s, data, n, type, true);
}

bool
folded_looks(const char *p, size_t n)
{
	const char *limit = p + n;

	while (p < limit) {
		const char *end = memchr(p, '\n', (size_t)(limit - p));
		const char *trimmed;
		int64_t count;
		bool rounded;

		if (end == NULL)
			end = limit;
		trimmed = folded_trim(p, end);
		if (trimmed > p && *p != '#')
			return folded_count(p, trimmed, &count, &rounded) !=
			    NULL;
		p = end + 1;
	}
	return false;
}

bool
folded_looks_lines(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return n > 0 && *p != '{' && memchr(p, ';', n) != NULL;
}
