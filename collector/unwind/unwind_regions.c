/*
 * Codes in a list; the regions with rows in another one, which is searched
 * for the one to go.
 */
#include "collector/unwind/unwind_regions.h"

#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/chunks.h"
#include "collector/unwind/extents.h"
#include "collector/unwind/unwind_rows.h"

#define RESERVE_PART 8 /* kept free for what is met next */
#define STRETCH 2000 /* samples: met once in it or often is the same */
#define STRETCHES_MAX 16
#define ROOMS 64 /* that are being made */
#define NOBODY UINT32_MAX

struct code {
	struct code *next;
	struct unwind_code is;
	uint32_t first; /* of its regions in the kernel */
	uint32_t refs;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_len;
	uint8_t *came; /* a bit for each region: its rows have been there */
	struct unwind_region regions[]; /* but for `used` */
};

struct loaded {
	struct code *code;
	uint32_t at;
	uint32_t counted;   /* when the last stretch of it began */
	uint32_t stretches; /* in which it was met */
};

/* Made for a region that found none: what was there rests. */
struct room {
	const struct code *code;
	uint32_t at, first, end; /* cells */
	int64_t until_ns;
};

struct unwind_regions {
	const struct unwind_kernel *kernel;
	struct chunks *cells;
	struct extents *numbers; /* of regions */
	struct code *codes;
	struct loaded loaded[UNWIND_REGIONS];
	uint32_t n_loaded;
	uint32_t used; /* cells of them */
	uint32_t tick;
	uint64_t rows, made, evicted, refused;
	struct room rooms[ROOMS]; /* the oldest is written next */
	uint32_t next_room;
};

struct unwind_regions *
unwind_regions_new(const struct unwind_kernel *kernel)
{
	struct unwind_regions *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->kernel = kernel;
	r->cells = chunks_new(kernel);
	r->numbers = extents_new(UNWIND_REGIONS);
	r->tick = 1;
	if (r->cells != NULL && r->numbers != NULL)
		return r;
	unwind_regions_free(r);
	return NULL;
}

void
unwind_regions_free(struct unwind_regions *r)
{
	struct code *c;

	if (r == NULL)
		return;
	while ((c = r->codes) != NULL) {
		r->codes = c->next;
		free(c);
	}
	chunks_free(r->cells);
	extents_free(r->numbers);
	free(r);
}

void
unwind_regions_tick(struct unwind_regions *r)
{
	r->kernel->set_tick(r->kernel->arg, ++r->tick);
}

uint32_t
unwind_regions_clock(const struct unwind_regions *r)
{
	return r->tick;
}

/* Tells the kernel of n regions from `at` on: the state last when rows come,
 * first when they go. */
static void
code_publish(struct unwind_regions *r, struct code *c, uint32_t at,
    uint32_t n)
{
	struct unwind_region place = c->regions[at];

	place.used = r->tick;
	if (n == 1 && place.state == UNWIND_TABLE_READY) {
		place.state = UNWIND_TABLE_PENDING;
		r->kernel->write(r->kernel->arg, UNWIND_ARRAY_REGIONS,
		    c->first + at, &place, 1);
		place.state = UNWIND_TABLE_READY;
	}
	r->kernel->write(r->kernel->arg, UNWIND_ARRAY_REGIONS,
	    c->first + at, n == 1 ? &place : &c->regions[at], n);
}

static struct code *
code_find(struct unwind_regions *r, const struct symbols_rows *a)
{
	struct code *c = a->code_id_len > 0 ? r->codes : NULL;

	for (; c != NULL; c = c->next)
		if (c->id_len == a->code_id_len &&
		    c->is.base == a->base && c->is.n == a->regions &&
		    c->is.shift == a->shift &&
		    memcmp(c->id, a->code_id, a->code_id_len) == 0)
			return c;
	return NULL;
}

static struct code *
code_new(struct unwind_regions *r, const struct symbols_rows *a,
    int64_t now_ns)
{
	struct code *c;

	if (a->regions == 0 || a->regions > UNWIND_REGIONS_FILE ||
	    a->shift < UNWIND_REGION_SHIFT || a->shift > 31 ||
	    a->code_id_len > sizeof(c->id) ||
	    (uint64_t)a->regions - 1 > (UINT32_MAX - a->base) >> a->shift)
		return NULL;
	c = calloc(1, sizeof(*c) + a->regions * sizeof(c->regions[0]) +
	    a->regions / 8 + 1);
	if (c == NULL)
		return NULL;
	c->came = (uint8_t *)(c->regions + a->regions);
	c->first = extents_take(r->numbers, a->regions, now_ns);
	if (c->first == EXTENTS_NONE) {
		free(c);
		return NULL;
	}
	c->is = (struct unwind_code){.base = a->base, .n = a->regions,
	    .shift = a->shift};
	if (a->code_id_len > 0)
		memcpy(c->id, a->code_id, a->code_id_len);
	c->id_len = a->code_id_len;
	code_publish(r, c, 0, c->is.n);
	c->next = r->codes;
	r->codes = c;
	return c;
}

struct code *
regions_get(struct unwind_regions *r, const struct symbols_rows *answer,
    int64_t now_ns)
{
	struct code *c = code_find(r, answer);

	if (c == NULL)
		c = code_new(r, answer, now_ns);
	if (c != NULL)
		c->refs++;
	return c;
}

static uint32_t
region_cells(const struct unwind_region *g)
{
	return g->buckets + g->rows;
}

/* Takes entry i of the list away, and its cells. */
static void
loaded_remove(struct unwind_regions *r, uint32_t i, int64_t now_ns)
{
	const struct loaded *l = &r->loaded[i];
	struct unwind_region *g = &l->code->regions[l->at];
	struct unwind_region was = *g;

	*g = (struct unwind_region){.state = UNWIND_TABLE_PENDING};
	code_publish(r, l->code, l->at, 1);
	if (region_cells(&was) > 0)
		chunks_give(r->cells, was.first, region_cells(&was), now_ns);
	r->used -= region_cells(&was);
	r->rows -= was.rows;
	r->loaded[i] = r->loaded[--r->n_loaded];
}

void
regions_drop(struct unwind_regions *r, struct code *c, int64_t now_ns)
{
	struct code **at = &r->codes;
	uint32_t i = 0;

	if (--c->refs > 0)
		return;
	while (i < r->n_loaded) {
		if (r->loaded[i].code == c)
			loaded_remove(r, i, now_ns);
		else
			i++;
	}
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	extents_give(r->numbers, c->first, c->is.n, now_ns);
	free(c);
}

struct unwind_table
regions_table(const struct code *c)
{
	return (struct unwind_table){.state = UNWIND_TABLE_READY,
	    .first = c->first, .code = c->is};
}

/* The number of the offset's region; the code's n when it is in none. */
static uint32_t
code_region(const struct code *c, uint32_t offset)
{
	uint32_t at = offset < c->is.base ? c->is.n :
	    (offset - c->is.base) >> c->is.shift;

	return at < c->is.n ? at : c->is.n;
}

bool
regions_lack(const struct code *c, uint32_t offset)
{
	uint32_t at = code_region(c, offset);

	return at < c->is.n && c->regions[at].state == UNWIND_TABLE_PENDING;
}

bool
regions_are_new(const struct code *c, uint32_t offset)
{
	uint32_t at = code_region(c, offset);

	return at < c->is.n && (c->came[at / 8] >> at % 8 & 1) == 0;
}

/* How many samples ago the region was met, of what is met again and again a
 * part of that: what a database does once in minutes outlasts what a compiler
 * that came and went did once. */
static uint32_t
loaded_age(struct unwind_regions *r, struct loaded *l)
{
	struct unwind_region place;

	if (!r->kernel->read(r->kernel->arg, UNWIND_ARRAY_REGIONS,
	    l->code->first + l->at, &place, 1))
		return 0;
	if (place.used - l->counted >= STRETCH) {
		l->counted = place.used;
		if (l->stretches < STRETCHES_MAX)
			l->stretches++;
	}
	return (r->tick - place.used) / l->stretches;
}

/* Takes the rows away that are the oldest by that. */
static void
regions_evict(struct unwind_regions *r, int64_t now_ns)
{
	uint32_t i, age, best = 0, oldest = 0;

	/* Of equals the one that came first, mostly. */
	for (i = r->n_loaded; i-- > 0;) {
		age = loaded_age(r, &r->loaded[i]);
		/* One without cells gives no room. */
		if (r->loaded[i].code->regions[r->loaded[i].at].rows == 0 ||
		    age < best)
			continue;
		best = age;
		oldest = i;
	}
	loaded_remove(r, oldest, now_ns);
	r->evicted++;
}

/* Evicts until a part of all cells is unused or rests, so that what is met
 * next has room at once. */
static void
regions_keep_reserve(struct unwind_regions *r, int64_t now_ns)
{
	uint32_t max = chunks_cells_max(r->cells);

	while (r->used > max - max / RESERVE_PART)
		regions_evict(r, now_ns);
}

/* What is in use, by where it lies; i: in the list of loaded ones, NOBODY for
 * the room of another. */
struct laid {
	uint32_t first, end, i, age;
};

/* Neighbours, of which none was met later than `age` ago by loaded_age(), and
 * where their gap begins. */
struct laid_run {
	const struct laid *from, *to;
	uint32_t begin, age;
};

static int
laid_by_place(const void *a, const void *b)
{
	const struct laid *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int
laid_last_first(const void *a, const void *b)
{
	const struct laid *x = a, *y = b;

	return x->i > y->i ? -1 : x->i < y->i;
}

static size_t
regions_laid(struct unwind_regions *r, struct laid *out, int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < ROOMS; i++)
		if (now_ns < r->rooms[i].until_ns)
			out[n++] = (struct laid){r->rooms[i].first,
			    r->rooms[i].end, NOBODY, 0};
	for (uint32_t i = 0; i < r->n_loaded; i++) {
		struct loaded *l = &r->loaded[i];
		const struct unwind_region *g = &l->code->regions[l->at];

		if (region_cells(g) > 0)
			out[n++] = (struct laid){g->first, g->first +
			    region_cells(g), i, loaded_age(r, l)};
	}
	qsort(out, n, sizeof(*out), laid_by_place);
	return n;
}

/* The run from `from` on whose going makes a gap of so many cells, if it is
 * better than the best one so far.  What lies between two is unused or rests,
 * and so is what lies from `begin` to the first, and from the last of the
 * chunk's, which are [from, last), to its `end`. */
static void
laid_try(const struct laid *from, const struct laid *last, uint32_t cells,
    uint32_t begin, uint32_t end, struct laid_run *best)
{
	const struct laid *to = from;
	uint32_t age = UINT32_MAX;

	for (;; to++) {
		if ((to < last ? to->first : end) >= begin + cells)
			break;
		if (to == last || to->i == NOBODY)
			return;
		age = to->age < age ? to->age : age;
		if (best->from != NULL && age <= best->age)
			return;
	}
	if (best->from == NULL || age > best->age)
		*best = (struct laid_run){from, to, begin, age};
}

/* The best of all chunks: where those that go were met longest ago. */
static struct laid_run
laid_best(const struct laid *l, size_t n, uint32_t chunks, uint32_t cells)
{
	static const uint32_t size = 1u << UNWIND_CHUNK_SHIFT;
	const struct laid *all = l + n, *last;
	struct laid_run best = {.from = NULL};

	for (uint32_t c = 0; c < chunks; c++, l = last) {
		uint32_t begin = c * size, end = begin + size;

		for (last = l; last < all && last->first < end; last++)
			continue;
		for (;; l++) {
			laid_try(l, last, cells, begin, end, &best);
			if (l == last)
				break;
			begin = l->end > begin ? l->end : begin;
		}
	}
	return best;
}

/*
 * Takes neighbours away for a region, so that there is a gap of so many cells
 * when they have rested: those that are oldest lie anywhere, and leave gaps for
 * small ones alone.  A gap that others rest in for nobody is as good.
 */
static void
regions_make_room(struct unwind_regions *r, const struct code *c, uint32_t at,
    uint32_t cells, int64_t now_ns)
{
	struct laid *laid = malloc((r->n_loaded + ROOMS) * sizeof(*laid));
	struct laid_run run;
	size_t n;

	if (laid == NULL)
		return;
	n = regions_laid(r, laid, now_ns);
	run = laid_best(laid, n, chunks_cells(r->cells) >> UNWIND_CHUNK_SHIFT,
	    cells);
	if (run.from != NULL) {
		n = (size_t)(run.to - run.from);
		qsort(laid + (run.from - laid), n, sizeof(*laid),
		    laid_last_first);
		for (; run.from < run.to; run.from++)
			loaded_remove(r, run.from->i, now_ns);
		r->evicted += n;
		r->rooms[r->next_room] = (struct room){c, at, run.begin,
		    run.begin + cells, now_ns + EXTENTS_REST_NS};
		r->next_room = (r->next_room + 1) % ROOMS;
	}
	free(laid);
}

bool
regions_have_room(const struct unwind_regions *r, const struct code *c,
    uint32_t offset, int64_t now_ns)
{
	uint32_t at = code_region(c, offset);

	for (size_t i = 0; i < ROOMS; i++)
		if (r->rooms[i].code == c && r->rooms[i].at == at &&
		    now_ns < r->rooms[i].until_ns)
			return false;
	return true;
}

static void
code_take(struct unwind_regions *r, struct code *c, uint32_t at,
    const struct unwind_region *place)
{
	c->regions[at] = *place;
	c->regions[at].state = UNWIND_TABLE_READY;
	c->came[at / 8] |= (uint8_t)(1u << at % 8);
	code_publish(r, c, at, 1);
	r->loaded[r->n_loaded++] = (struct loaded){.code = c, .at = at,
	    .counted = r->tick, .stretches = 1};
	r->used += region_cells(place);
	r->rows += place->rows;
	r->made++;
}

bool
regions_load(struct unwind_regions *r, struct code *c, uint32_t offset,
    const struct symbols_rows *answer, int64_t now_ns)
{
	static const struct unwind_region nothing;
	uint32_t at = code_region(c, offset), cells;
	struct unwind_rows u;

	if (!regions_lack(c, offset))
		return true;
	if (answer->n == 0) { /* no function is there */
		code_take(r, c, at, &nothing);
		return true;
	}
	if (!unwind_rows_open(&u, answer->fd, answer->n, &c->is, at))
		return false;
	cells = region_cells(&u.place);
	u.place.first = chunks_take(r->cells, cells, now_ns);
	if (u.place.first == CHUNKS_NONE) {
		regions_make_room(r, c, at, cells, now_ns);
	} else if (unwind_rows_write(&u, r->kernel)) {
		code_take(r, c, at, &u.place);
		regions_keep_reserve(r, now_ns);
	} else {
		chunks_give(r->cells, u.place.first, cells, now_ns);
	}
	unwind_rows_close(&u);
	return true;
}

void
regions_refuse(struct unwind_regions *r, struct code *c, uint32_t offset)
{
	uint32_t at = code_region(c, offset);

	if (!regions_lack(c, offset))
		return;
	c->regions[at].state = UNWIND_TABLE_TOO_LARGE;
	code_publish(r, c, at, 1);
	r->refused++;
}

void
unwind_regions_stats(const struct unwind_regions *r,
    struct unwind_regions_stats *out)
{
	*out = (struct unwind_regions_stats){.loaded = r->n_loaded,
	    .cells = chunks_cells(r->cells),
	    .cells_max = chunks_cells_max(r->cells), .rows = r->rows,
	    .made = r->made, .evicted = r->evicted, .refused = r->refused};
}
