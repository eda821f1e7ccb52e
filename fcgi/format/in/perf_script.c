/*
 * A line is looked at twice: by memchr() for its end, and eight bytes at a
 * time for the hash of what is behind the address.  That text is found in a
 * cache nearly always, and stands for a list of frames.
 */
#include "fcgi/format/in/perf_script.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/in/perf_script_event.h"
#include "fcgi/format/in/perf_script_frame.h"
#include "fcgi/format/stacks_cache.h"
#include "fcgi/format/stacks_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define DEPTH_MAX 4095 /* and the command */
#define CACHE_MAX (64u << 20) /* bytes of text; then it begins anew */
#define EVENT_MAX 128

struct perf_line {
	const char *text; /* behind the address */
	uint32_t n, hash;
};

#define PENDING 64 /* lines scanned before the first is looked up */

struct perf_script {
	struct stacks *s;
	/* what is behind an address -> where its frames begin in chains */
	struct stacks_cache texts[2]; /* of other commands, of java */
	uint32_t *chains; /* n, then n frames, innermost first */
	size_t n_chains, cap_chains;
	struct stacks_cache commands; /* a command -> its frame */
	struct perf_line pending[PENDING]; /* in the text that is fed */
	size_t n_pending;
	/* the sample that is being read */
	uint32_t *leaf_first;
	size_t depth;
	uint32_t command, type;
	int64_t count;
	bool open, brief, java;
	/* the event seen last, and its type */
	char event[EVENT_MAX];
	bool periods;
	uint64_t line, samples, bad, cut, first_bad, ended;
};

struct perf_script *
perf_script_new(struct stacks *s, bool brief)
{
	struct perf_script *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->s = s;
	p->brief = brief;
	p->type = UINT32_MAX;
	p->leaf_first = malloc(DEPTH_MAX * sizeof(*p->leaf_first));
	if (p->leaf_first == NULL) {
		free(p);
		return NULL;
	}
	return p;
}

static void
perf_script_bad(struct perf_script *p)
{
	if (p->bad++ == 0)
		p->first_bad = p->line;
}

/* ---- the line of an event ---- */

/* Clocks count nanoseconds; other events count themselves. */
static void
event_type(struct perf_script *p, const struct perf_event *l)
{
	size_t n = (size_t)(l->event_end - l->event);
	struct stacks_type t = {p->event, "samples", 1, SERIES_FLOW};
	const char *colon;

	n = n < EVENT_MAX - 1 ? n : EVENT_MAX - 1;
	if (p->type != UINT32_MAX && p->periods == (l->period > 0) &&
	    strncmp(p->event, l->event, n) == 0 && p->event[n] == '\0')
		return;
	memcpy(p->event, l->event, n);
	p->event[n] = '\0';
	p->periods = l->period > 0;
	if (p->periods && (strncmp(p->event, "cpu-clock", 9) == 0 ||
	    strncmp(p->event, "task-clock", 10) == 0))
		t.unit = "nanoseconds";
	else if (p->periods)
		t.unit = p->event;
	/* modifiers behind a colon are no part of the name */
	colon = strchr(p->event, ':');
	if (colon != NULL && strspn(colon + 1, "ukhHGpPSDWeb") ==
	    strlen(colon + 1)) {
		char plain[EVENT_MAX];

		memcpy(plain, p->event, sizeof(plain));
		plain[colon - p->event] = '\0';
		t.name = plain;
		if (t.unit == p->event)
			t.unit = plain;
		p->type = stacks_type(p->s, &t);
		return;
	}
	p->type = stacks_type(p->s, &t);
}

/* perf calls a task that has ended by its number, ":4711", or ":-1". */
static bool
command_has_ended(const char *text, size_t n)
{
	size_t i = n > 1 && text[1] == '-' ? 2 : 1;

	if (n <= i || text[0] != ':')
		return false;
	while (i < n && is_digit(text[i]))
		i++;
	return i == n;
}

static void
event_command(struct perf_script *p, const char *text, size_t n)
{
	static const char exited[] = "(exited)";
	uint32_t hash = 0, frame;
	char name[256];

	if (command_has_ended(text, n)) {
		p->ended++;
		text = exited;
		n = strlen(exited);
	}
	n = n < sizeof(name) - 1 ? n : sizeof(name) - 1;
	for (size_t i = 0; i < n; i++) {
		name[i] = is_space(text[i]) ? '_' : text[i] == ';' ? ':'
								   : text[i];
		hash = (hash ^ (unsigned char)name[i]) * 0x01000193;
	}
	frame = stacks_cache_get(&p->commands, hash, name, n);
	if (frame == STACKS_CACHE_NONE) {
		frame = stacks_frame_named(p->s, FRAME_MARK, name, n);
		stacks_cache_add(&p->commands, hash, name, n, frame);
	}
	p->command = frame;
	p->java = n == 4 && memcmp(name, "java", 4) == 0;
}

/* ---- the line of a frame ---- */

static uint32_t
frame_hash(const char *p, const char *end, bool inside)
{
	uint64_t h = 0, word = 0;
	size_t n;

	for (; end - p >= 8; p += 8) {
		memcpy(&word, p, 8);
		h = stacks_cache_mix(h, word);
	}
	n = (size_t)(end - p);
	word = 0;
	if (inside) {
		memcpy(&word, p, 8);
		word &= ((uint64_t)1 << 8 * n) - 1;
	} else {
		memcpy(&word, p, n);
	}
	return (uint32_t)stacks_cache_mix(h, word);
}

/* The place in chains of a text that is new; STACKS_CACHE_NONE: no frame. */
static uint32_t
frame_add(struct perf_script *p, uint32_t hash, const char *text,
    const char *end)
{
	struct stacks_cache *cache = &p->texts[p->java];
	uint32_t at;
	int n;

	if (cache->text.len > CACHE_MAX) {
		stacks_cache_fini(&p->texts[0]);
		stacks_cache_fini(&p->texts[1]);
		p->n_chains = 0;
	}
	if (!array_room(&p->chains, p->n_chains + PERF_CHAIN_MAX + 1,
	    &p->cap_chains))
		return STACKS_CACHE_NONE;
	at = (uint32_t)p->n_chains;
	n = perf_script_frame(p->s, text, end,
	    &(struct perf_names){p->brief, p->java}, p->chains + at + 1);
	if (n < 0)
		return STACKS_CACHE_NONE;
	p->chains[at] = (uint32_t)n;
	p->n_chains += (size_t)n + 1;
	stacks_cache_add(cache, hash, text, (size_t)(end - text), at);
	return at;
}

/* The frames of a text that was scanned. */
static void
frame_put(struct perf_script *p, const struct perf_line *l)
{
	uint32_t chain = stacks_cache_get(&p->texts[p->java], l->hash,
	    l->text, l->n);

	if (chain == STACKS_CACHE_NONE)
		chain = frame_add(p, l->hash, l->text, l->text + l->n);
	if (chain == STACKS_CACHE_NONE) {
		perf_script_bad(p);
		return;
	}
	for (uint32_t i = 1; i <= p->chains[chain]; i++) {
		if (p->depth == DEPTH_MAX) {
			p->cut++;
			return;
		}
		p->leaf_first[p->depth++] = p->chains[chain + i];
	}
}

/* Looks the lines up that were scanned; what that touches has been fetched
 * meanwhile, for the texts of a large program do not fit a near cache. */
static void
frame_resolve(struct perf_script *p)
{
	const struct stacks_cache *cache = &p->texts[p->java];

	for (size_t i = 0; i < p->n_pending; i++)
		stacks_cache_fetch_text(cache, p->pending[i].hash);
	for (size_t i = 0; i < p->n_pending; i++)
		frame_put(p, &p->pending[i]);
	p->n_pending = 0;
}

#define ONES 0x0101010101010101u

/* Where the next blank is, or the end; eight bytes can be read anywhere. */
static const char *
frame_blank(const char *p, const char *end)
{
	for (; p < end; p += 8) {
		uint64_t word, zero;

		memcpy(&word, p, 8);
		word ^= ONES * ' ';
		zero = (word - ONES) & ~word & ONES * 0x80;
		if (zero != 0) {
			p += __builtin_ctzll(zero) / 8;
			return p < end ? p : end;
		}
	}
	return end;
}

/* The same near the end of memory. */
static const char *
frame_blank_slow(const char *p, const char *end)
{
	while (p < end && *p != ' ')
		p++;
	return p;
}

static void
perf_script_push(struct perf_script *p, const char *text, const char *end,
    bool inside)
{
	const char *at = text;

	while (at < end && is_space(*at))
		at++;
	text = at;
	at = inside ? frame_blank(at, end) : frame_blank_slow(at, end);
	if (!p->open || at == end || !is_hex(*text) || !is_hex(at[-1])) {
		perf_script_bad(p);
		return;
	}
	while (at < end && is_space(*at))
		at++;
	if (p->n_pending == PENDING)
		frame_resolve(p);
	p->pending[p->n_pending] = (struct perf_line){at,
	    (uint32_t)(end - at), frame_hash(at, end, inside)};
	stacks_cache_fetch(&p->texts[p->java],
	    p->pending[p->n_pending++].hash);
}

/* ---- samples ---- */

static void
perf_script_close(struct perf_script *p)
{
	uint32_t node, depth = 1;

	if (!p->open)
		return;
	frame_resolve(p);
	node = stacks_child_at(p->s, 0, p->command, depth);
	for (size_t i = p->depth; i-- > 0;)
		node = stacks_child_at(p->s, node, p->leaf_first[i], ++depth);
	stacks_add(p->s, node, p->type, p->count);
	p->samples++;
	p->open = false;
	p->depth = 0;
}

/* A sample without a chain has its one frame on the line of the event. */
static void
perf_script_event(struct perf_script *p, const char *text, const char *end,
    bool inside)
{
	struct perf_event l;

	perf_script_close(p);
	if (!perf_event_read(&l, text, end)) {
		perf_script_bad(p);
		return;
	}
	event_type(p, &l);
	event_command(p, l.command, (size_t)(l.command_end - l.command));
	p->count = l.period > 0 ? l.period : 1;
	p->open = true;
	if (l.frame == NULL)
		return;
	perf_script_push(p, l.frame, end, inside);
	perf_script_close(p);
}

/* ---- all of it ---- */

static bool
is_blank(const char *p, const char *end)
{
	while (p < end && (is_space(*p) || *p == '\r'))
		p++;
	return p == end;
}

static void
perf_script_line(struct perf_script *p, const char *text, const char *end,
    const char *limit)
{
	bool inside = limit - end >= 8;

	p->line++;
	if (is_blank(text, end))
		perf_script_close(p);
	else if (p->open && is_space(*text))
		perf_script_push(p, text, end, inside);
	else if (*text != '#')
		perf_script_event(p, text, end, inside);
}

size_t
perf_script_feed(struct perf_script *p, const char *text, size_t n,
    bool last)
{
	const char *at = text, *limit = text + n;

	while (at < limit && stacks_error(p->s) == NULL) {
		const char *end = memchr(at, '\n', (size_t)(limit - at));

		if (end == NULL && !last)
			break;
		if (end == NULL)
			end = limit;
		perf_script_line(p, at, end, limit);
		at = end + 1;
	}
	frame_resolve(p); /* their texts are the caller's */
	if (last)
		perf_script_close(p);
	return at > limit ? n : (size_t)(at - text);
}

const struct err *
perf_script_finish(struct perf_script *p)
{
	const struct err *e = stacks_error(p->s);

	if (e == NULL && p->samples == 0 && p->bad > 0)
		e = err_new(ERR_REQUEST, 422, "line %llu is no event of perf "
		    "script", (unsigned long long)p->first_bad);
	if (p->bad > 0)
		stacks_skip(p->s, "lines that are no frame or event", p->bad);
	if (p->ended > 0)
		stacks_skip(p->s, "commands of ended tasks: their samples "
		    "are under (exited)", p->ended);
	if (p->cut > 0)
		stacks_skip(p->s, "frames beyond a stack's 4,095", p->cut);
	stacks_cache_fini(&p->texts[0]);
	stacks_cache_fini(&p->texts[1]);
	stacks_cache_fini(&p->commands);
	free(p->chains);
	free(p->leaf_first);
	free(p);
	return e;
}

static const struct err *
perf_script_parse_as(struct stacks *s, const void *data, size_t n,
    bool brief)
{
	struct perf_script *p = perf_script_new(s, brief);

	if (p == NULL)
		return err_nomem();
	if (n > 0)
		perf_script_feed(p, data, n, true);
	return perf_script_finish(p);
}

const struct err *
perf_script_parse(struct stacks *s, const void *data, size_t n)
{
	return perf_script_parse_as(s, data, n, false);
}

const struct err *
perf_script_parse_brief(struct stacks *s, const void *data, size_t n)
{
	return perf_script_parse_as(s, data, n, true);
}

bool
perf_script_looks(const char *p, size_t n)
{
	const char *limit = p + n;

	while (p < limit) {
		const char *end = memchr(p, '\n', (size_t)(limit - p));
		struct perf_event l;

		if (end == NULL)
			end = limit;
		if (!is_blank(p, end) && *p != '#')
			return perf_event_read(&l, p, end);
		p = end + 1;
	}
	return false;
}
