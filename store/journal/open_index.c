/*
 * Arrays are told by tables of where their pointer, their number and their room
 * stand, so that each is named once.  Strips' bytes stand in a row, and stay so
 * in memory until a strip grows (openspan.h).
 */
#include "store/journal/open_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/file/manifest.h"

#define INDEX_MAGIC "MLX1"
#define INDEX_RECORD (256u << 10) /* memory for records that is kept */
#define INDEX_MOST (1u << 30)     /* bytes */

struct index_head {
	char magic[4];
	uint32_t sum; /* of all that follows it */
	uint64_t layout, size;
	char journal[MANIFEST_NAME];
	uint8_t record[BATCH_RECORD_HEADER]; /* the last one's */
	uint64_t offset, last, together;
	struct gaps gaps;
	uint64_t first_slot, until_slot;
	uint32_t n_dicts, last_set;
};

#define INDEX_SUMMED (offsetof(struct index_head, sum) + sizeof(uint32_t))

/* Of names that are said again, beside their text. */
struct index_again {
	uint64_t bytes;
	uint32_t first, n, sum, unused;
};

/* Of a dictionary, beside its arrays. */
struct index_dict {
	uint32_t number, ends[OPEN_KINDS];
	uint32_t coded;
};

/* ---- what is written ---- */

/* Places in a struct. */
struct index_array {
	size_t array, n, cap; /* the last two: uint32_t */
	size_t size;          /* of an item */
};

#define ARRAY(of, array, n, cap)                                               \
	{offsetof(struct of, array), offsetof(struct of, n),                   \
	    offsetof(struct of, cap), sizeof(*((struct of *)NULL)->array)}
#define MARKS(kind)                                                            \
	ARRAY(open_dict, marks[kind].marks, marks[kind].n, marks[kind].cap)

static const struct index_array of_span[] = {
    ARRAY(openspan, pages.records, pages.n_records, pages.cap_records),
    ARRAY(openspan, pages.sums, pages.n_sums, pages.cap_sums),
    ARRAY(openspan, lists.services, lists.n_services, lists.cap_services),
    ARRAY(openspan, lists.members, lists.n, lists.cap),
    ARRAY(openspan, strips, n_strips, cap_strips),
    ARRAY(openspan, ends, n_strips, cap_ends),
    ARRAY(openspan, slots, n_slots, cap_slots),
    ARRAY(openspan, facts, n_facts, cap_facts),
    ARRAY(openspan, times, n_times, cap_times),
};

static const struct index_array of_dict[] = {
    MARKS(OPEN_STRINGS), MARKS(OPEN_FRAMES), MARKS(OPEN_LABELS),
    MARKS(OPEN_NODES), ARRAY(open_dict, series, n_series, cap_series),
};

static const struct index_array of_intern[] = {
    ARRAY(intern, items, n, cap),
};

static const size_t interns[] = {
    offsetof(struct openspan, series.strings),
    offsetof(struct openspan, series.labels),
    offsetof(struct openspan, series.series),
    offsetof(struct openspan, lists.names),
    offsetof(struct openspan, lists.heads),
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* What another build may have otherwise. */
static uint64_t
index_layout(void)
{
	uint64_t h = hash64(sizeof(struct index_head), of_span,
	    sizeof(of_span));

	h = hash64(h, of_dict, sizeof(of_dict));
	h = hash64(h, of_intern, sizeof(of_intern));
	return hash64(h, interns, sizeof(interns));
}

/* ---- saving ---- */

/* Behind their number, and up to a multiple of 8. */
static void
index_put(struct buf *out, const void *p, uint64_t bytes)
{
	buf_put(out, &bytes, sizeof(bytes));
	if (bytes > 0)
		buf_put(out, p, bytes);
	while (out->len % 8 != 0 && !out->failed)
		buf_put_u8(out, 0);
}

static void
index_put_arrays(struct buf *out, const void *of,
    const struct index_array *arrays, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *base = of;
		const void *p;
		uint32_t items;

		memcpy(&p, base + arrays[i].array, sizeof(p));
		memcpy(&items, base + arrays[i].n, sizeof(items));
		index_put(out, p, items * (uint64_t)arrays[i].size);
	}
}

static void
index_put_intern(struct buf *out, const struct intern *t)
{
	index_put(out, t->bytes.data, t->bytes.len);
	index_put_arrays(out, t, of_intern, N(of_intern));
}

static void
index_put_dict(struct buf *out, const struct open_dict *d)
{
	struct index_dict x = {.number = d->number, .coded = d->coded};

	for (int i = 0; i < OPEN_KINDS; i++)
		x.ends[i] = d->marks[i].end;
	index_put(out, &x, sizeof(x));
	index_put_arrays(out, d, of_dict, N(of_dict));
	index_put(out, d->prefixes.data, d->prefixes.len);
}

/* Without it who goes on would take what is said again for new. */
static void
index_put_again(struct buf *out, const struct open_again *a)
{
	struct index_again x = {a->bytes, a->first, a->n, a->sum, 0};

	index_put(out, &x, sizeof(x));
	index_put(out, a->text.data, a->text.len);
}

static void
index_put_strips(struct buf *out, const struct openspan *o)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < o->n_strips; i++)
		bytes += o->strips[i].len;
	buf_put(out, &bytes, sizeof(bytes));
	for (uint32_t i = 0; i < o->n_strips; i++)
		if (o->strips[i].len > 0)
			buf_put(out, o->strips[i].bytes, o->strips[i].len);
	while (out->len % 8 != 0 && !out->failed)
		buf_put_u8(out, 0);
}

/* False: the journal cannot be read. */
static bool
index_last_record(const struct journal_reader *r, uint64_t last, uint8_t *to)
{
	return pread(r->fd, to, BATCH_RECORD_HEADER, (off_t)last) ==
	    BATCH_RECORD_HEADER;
}

static bool
index_make(const struct open_index *x, struct buf *out)
{
	const struct openspan *o = x->span;
	struct index_head head = {.magic = INDEX_MAGIC,
	    .layout = index_layout(), .offset = x->reader->offset,
	    .last = x->reader->last, .together = x->reader->together,
	    .gaps = *x->gaps, .first_slot = o->first_slot,
	    .until_slot = o->until_slot, .n_dicts = o->n_dicts,
	    .last_set = o->lists.last_set};

	if (!index_last_record(x->reader, head.last, head.record))
		return false;
	strncpy(head.journal, x->journal, sizeof(head.journal) - 1);
	buf_put(out, &head, sizeof(head));
	index_put_arrays(out, o, of_span, N(of_span));
	index_put_strips(out, o);
	for (size_t i = 0; i < N(interns); i++)
		index_put_intern(out, (const void *)((const char *)o +
		    interns[i]));
	for (uint32_t i = 0; i < o->n_dicts; i++)
		index_put_dict(out, &o->dicts[i]);
	for (int i = 0; i < OPEN_KINDS * JOURNAL_RESTATE; i++)
		index_put_again(out, &o->again[i / JOURNAL_RESTATE]
		    [i % JOURNAL_RESTATE]);
	if (out->failed || out->len > INDEX_MOST)
		return false;
	head.size = out->len;
	memcpy(out->data, &head, sizeof(head));
	head.sum = crc32c(0, out->data + INDEX_SUMMED,
	    out->len - INDEX_SUMMED);
	memcpy(out->data, &head, sizeof(head));
	return true;
}

/* So that who asks for some of a record's frames need not go through all. */
static bool
index_read_names(struct openspan *o)
{
	static const enum open_kind later[] = {OPEN_FRAMES, OPEN_NODES};

	for (uint32_t i = 0; i < o->n_dicts * N(later); i++) {
		struct open_dict *d = &o->dicts[i / N(later)];
		enum open_kind kind = later[i % N(later)];
		const struct open_marks *m = &d->marks[kind];

		for (uint32_t k = m->n; k-- > 0;)
			if (m->marks[k].shared == OPEN_UNREAD &&
			    open_dict_read(d, kind, k, &o->pages) != NULL)
				return false;
	}
	return true;
}

bool
open_index_save(int dir, const struct open_index *x)
{
	struct buf out = {0};
	bool fine = x->reader->damaged == 0 && x->span->lost == 0 &&
	    x->span->n_strips > 0 && index_read_names(x->span) &&
	    index_make(x, &out);
	int fd = !fine ? -1 : openat(dir, OPEN_INDEX_NAME,
	    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);

	fine = fd >= 0 && pwrite(fd, out.data, out.len, 0) ==
	    (ssize_t)out.len && ftruncate(fd, (off_t)out.len) == 0;
	if (fd >= 0)
		close(fd);
	buf_fini(&out);
	return fine;
}

void
open_index_drop(int dir)
{
	unlinkat(dir, OPEN_INDEX_NAME, 0);
}

/* ---- loading ---- */

/* The next array's bytes; NULL and 0: it has none.  c->bad: malformed. */
static const void *
index_take(struct cur *c, uint64_t *bytes)
{
	const uint8_t *p = cur_raw(c, sizeof(*bytes));

	*bytes = 0;
	if (p == NULL)
		return NULL;
	memcpy(bytes, p, sizeof(*bytes));
	if (*bytes > INDEX_MOST)
		c->bad = true;
	p = cur_raw(c, (*bytes + 7) / 8 * 8);
	if (p == NULL)
		*bytes = 0;
	return *bytes == 0 ? NULL : p;
}

/* A copy that the caller frees; NULL: it has none, or c->bad, also when out of
 * memory. */
static void *
index_take_copy(struct cur *c, uint64_t *bytes)
{
	const void *from = index_take(c, bytes);
	void *p;

	if (from == NULL)
		return NULL;
	if ((p = malloc(*bytes)) != NULL)
		memcpy(p, from, *bytes);
	else
		c->bad = true;
	return p;
}

static void
index_take_arrays(struct cur *c, void *of, const struct index_array *arrays,
    size_t n)
{
	for (size_t i = 0; i < n && !c->bad; i++) {
		char *base = of;
		uint64_t bytes;
		void *p = index_take_copy(c, &bytes);
		uint32_t items = p == NULL ? 0
		    : (uint32_t)(bytes / arrays[i].size);

		memcpy(base + arrays[i].array, &p, sizeof(p));
		memcpy(base + arrays[i].n, &items, sizeof(items));
		memcpy(base + arrays[i].cap, &items, sizeof(items));
	}
}

static void
index_take_buf(struct cur *c, struct buf *b)
{
	uint64_t bytes;

	b->data = index_take_copy(c, &bytes);
	b->len = b->cap = bytes;
}

static void
index_take_intern(struct cur *c, struct intern *t)
{
	bool aligned = t->aligned;

	intern_fini(t);
	t->aligned = aligned;
	index_take_buf(c, &t->bytes);
	index_take_arrays(c, t, of_intern, N(of_intern));
}

/* A struct of a known size; it is left as it is where there is no such. */
static void
index_take_plain(struct cur *c, void *out, size_t size)
{
	uint64_t bytes;
	const void *p = index_take(c, &bytes);

	c->bad |= bytes != size;
	if (!c->bad)
		memcpy(out, p, size);
}

static void
index_take_dict(struct cur *c, struct open_dict *d)
{
	struct index_dict x = {0};

	index_take_plain(c, &x, sizeof(x));
	d->number = x.number;
	d->coded = x.coded;
	index_take_arrays(c, d, of_dict, N(of_dict));
	for (int i = 0; i < OPEN_KINDS; i++)
		d->marks[i].end = x.ends[i];
	index_take_buf(c, &d->prefixes);
}

static void
index_take_again(struct cur *c, struct open_again *a)
{
	struct index_again x = {0};

	index_take_plain(c, &x, sizeof(x));
	*a = (struct open_again){.first = x.first, .n = x.n, .sum = x.sum,
	    .bytes = x.bytes};
	index_take_buf(c, &a->text);
}

static void
index_take_strips(struct cur *c, struct openspan *o)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < o->n_strips; i++)
		o->strips[i].cap = 0;
	o->row = index_take_copy(c, &o->row_bytes);
	for (uint32_t i = 0; i < o->n_strips && !c->bad; i++) {
		struct open_strip *s = &o->strips[i];

		c->bad |= s->len > o->row_bytes - at;
		s->bytes = s->len > 0 && !c->bad ? o->row + at : NULL;
		at += s->len;
	}
}

/* What is found by what is there. */
static bool
index_find(struct openspan *o)
{
	for (uint32_t i = 0; i < o->n_slots; i++)
		if (!map64_add(&o->slot_map, o->slots[i].slot, i))
			return false;
	return intern_index(&o->lists.names);
}

/* False: malformed, or out of memory. */
static bool
index_take_span(struct cur *c, const struct index_head *head,
    struct openspan *o)
{
	index_take_arrays(c, o, of_span, N(of_span));
	index_take_strips(c, o);
	for (size_t i = 0; i < N(interns) && !c->bad; i++)
		index_take_intern(c, (void *)((char *)o + interns[i]));
	if (c->bad || !array_room(&o->dicts, head->n_dicts, &o->cap_dicts))
		return false;
	for (; o->n_dicts < head->n_dicts && !c->bad; o->n_dicts++) {
		o->dicts[o->n_dicts] = (struct open_dict){0};
		index_take_dict(c, &o->dicts[o->n_dicts]);
	}
	for (int i = 0; i < OPEN_KINDS * JOURNAL_RESTATE; i++)
		index_take_again(c, &o->again[i / JOURNAL_RESTATE]
		    [i % JOURNAL_RESTATE]);
	o->lists.last_set = head->last_set;
	o->first_slot = head->first_slot;
	o->until_slot = head->until_slot;
	return !c->bad && cur_left(c) == 0 && index_find(o);
}

/* Is it of this journal as it is now? */
static bool
index_fits(const struct index_head *head, const struct open_index *x)
{
	uint8_t record[BATCH_RECORD_HEADER];
	struct stat st;

	return memcmp(head->magic, INDEX_MAGIC, sizeof(head->magic)) == 0 &&
	    head->layout == index_layout() &&
	    strncmp(head->journal, x->journal, sizeof(head->journal)) == 0 &&
	    head->gaps.first == x->gaps->first &&
	    fstat(x->reader->fd, &st) == 0 &&
	    (uint64_t)st.st_size >= head->offset &&
	    index_last_record(x->reader, head->last, record) &&
	    memcmp(record, head->record, sizeof(record)) == 0;
}

static int
index_open(int dir)
{
	return openat(dir, OPEN_INDEX_NAME,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

bool
open_index_is_ahead(int dir, const struct open_index *x, uint64_t bytes)
{
	struct index_head head;
	int fd = index_open(dir);
	bool ahead = fd >= 0 &&
	    pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    index_fits(&head, x) && head.offset >= x->reader->offset + bytes;

	if (fd >= 0)
		close(fd);
	return ahead;
}

/* Is it as it was written? */
static bool
index_is_whole(const struct index_head *head, const struct buf *b)
{
	return memcmp(head, b->data, sizeof(*head)) == 0 &&
	    head->sum == crc32c(0, b->data + INDEX_SUMMED,
	        b->len - INDEX_SUMMED);
}

/* All of the file, where it fits; false: there is none. */
static bool
index_read(int dir, const struct open_index *x, struct index_head *head,
    struct buf *b)
{
	int fd = index_open(dir);
	struct stat st;
	bool fine;

	if (fd < 0)
		return false;
	fine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, head, sizeof(*head), 0) == sizeof(*head) &&
	    index_fits(head, x) && head->size == (uint64_t)st.st_size &&
	    head->size >= sizeof(*head) && head->size <= INDEX_MOST &&
	    buf_reserve(b, head->size) &&
	    pread(fd, b->data, head->size, 0) == st.st_size;
	if (fine)
		b->len = head->size;
	close(fd);
	return fine && index_is_whole(head, b);
}

bool
open_index_load(int dir, const struct open_index *x)
{
	struct index_head head;
	struct buf b = {0};
	bool fine = index_read(dir, x, &head, &b) &&
	    symtab_init_unshown(&x->span->series) == NULL;
	struct cur c;

	if (fine) {
		c = cur_of(b.data + sizeof(head), b.len - sizeof(head));
		fine = index_take_span(&c, &head, x->span);
	}
	if (fine) {
		x->reader->offset = head.offset;
		x->reader->last = head.last;
		x->reader->together = head.together;
		*x->gaps = head.gaps;
	} else {
		openspan_fini(x->span);
	}
	buf_fini(&b);
	return fine;
}

/* ---- following ---- */

static const struct err *
index_take_record(void *arg, const void *record, size_t size,
    uint64_t offset)
{
	return openspan_take(arg, record, size, offset);
}

const struct err *
open_index_follow(const struct open_index *x)
{
	struct journal_reader *r = x->reader;
	struct openspan *o = x->span;
	const struct err *e = NULL;
	bool taken = true;

	while (e == NULL && taken) {
		e = journal_take(r, index_take_record, o, &taken);
		if (e == NULL && taken)
			gaps_take(x->gaps, o->recent, o->n_recent,
			    r->damaged + o->lost);
	}
	symtab_rest(&o->series); /* until a new one comes */
	openspan_rest_again(o);
	if (r->record.cap > INDEX_RECORD)
		buf_fini(&r->record); /* so large a one comes once */
	return e;
}
