/*
 * The memory map at the end of a heap dump: which file's code lay where.
 *
 *	561c33d35000-561c33d36000 r-xp 00001000 fe:00 10231816   /usr/bin/db
 *	40000000-40015000: /lib/ld-2.3.2.so          gperftools' short form
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/heap/heap_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define MAPS_MAX 1000000u

struct map_line {
	uint64_t start, end, offset, inode;
	bool code, gone;
	const char *path, *path_end;
};

/* Hexadecimal digits up to `stop`, which is passed. */
static bool
take_hex(struct heap_line *l, char stop, uint64_t *v)
{
	const char *p = l->p;

	*v = 0;
	while (p < l->end && isxdigit((unsigned char)*p)) {
		unsigned c = (unsigned char)*p++;

		*v = *v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	if (p == l->p || p - l->p > 16 || p == l->end || *p != stop)
		return false;
	l->p = p + 1;
	return true;
}

static void
skip_word(struct heap_line *l)
{
	while (l->p < l->end && *l->p != ' ' && *l->p != '\t')
		l->p++;
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
}

static bool
map_parse(struct heap_line l, struct map_line *m)
{
	const char *rights;

	*m = (struct map_line){.path_end = l.end};
	if (!take_hex(&l, '-', &m->start))
		return false;
	rights = l.p;
	if (take_hex(&l, ':', &m->end)) { /* the short form */
		m->code = true;
		skip_word(&l);
		m->path = l.p;
		return true;
	}
	l.p = rights;
	if (!take_hex(&l, ' ', &m->end))
		return false;
	while (l.p < l.end && *l.p == ' ')
		l.p++;
	rights = l.p;
	m->code = l.end - rights >= 4 && rights[2] == 'x';
	skip_word(&l);
	if (!take_hex(&l, ' ', &m->offset))
		return false;
	skip_word(&l); /* the device */
	if (!heap_take_number(&l, &m->inode))
		m->inode = 0;
	skip_word(&l);
	m->path = l.p;
	return true;
}

/* What the kernel adds where another file is at the path, or none. */
static void
map_cut_deleted(struct map_line *m)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof(deleted) - 1;

	m->gone = (size_t)(m->path_end - m->path) > n &&
	    memcmp(m->path_end - n, deleted, n) == 0;
	if (m->gone)
		m->path_end -= n;
}

static uint32_t
heap_module_key(struct heap *h, const struct map_line *m)
{
	struct buf key = {0};
	uint32_t number = HEAP_NONE;

	buf_put(&key, m->path, (size_t)(m->path_end - m->path));
	buf_put_u8(&key, '\0');
	buf_put_be64(&key, m->inode);
	if (!key.failed)
		number = heap_string(h, (const char *)key.data, key.len);
	buf_fini(&key);
	return number;
}

/* The number of a module, new or old. */
static uint32_t
heap_module(struct heap *h, const struct map_line *m)
{
	size_t length = (size_t)(m->path_end - m->path);
	const char *name = memrchr(m->path, '/', length);
	uint32_t key = heap_module_key(h, m);
	uint32_t n = h->n_modules, old;
	struct heap_module *x;

	if (key == INTERN_NONE)
		return HEAP_NONE;
	old = map64_get(&h->module_numbers, key);
	if (old != INTERN_NONE)
		return old;
	name = name == NULL || name + 1 == m->path_end ? m->path : name + 1;
	if (!array_room(&h->modules, n + 1, &h->cap_modules) ||
	    !map64_add(&h->module_numbers, key, n))
		return HEAP_NONE;
	x = &h->modules[h->n_modules++];
	*x = (struct heap_module){heap_string(h, m->path, length),
	    heap_string(h, name, (size_t)(m->path_end - name)), m->inode,
	    m->gone};
	return x->path == INTERN_NONE || x->name == INTERN_NONE ? HEAP_NONE
	    : n;
}

static int
map_order(const void *a, const void *b)
{
	const struct heap_map *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

const struct err *
heap_read_maps(struct heap_reader *r)
{
	struct heap_line l;
	struct map_line m;

	while (heap_line_next(r, &l)) {
		uint32_t module;

		if (!map_parse(l, &m) || !m.code || m.path == m.path_end ||
		    m.start >= m.end)
			continue;
		map_cut_deleted(&m);
		if (r->n_maps == MAPS_MAX)
			return heap_bad(r, "more than a million mappings");
		module = heap_module(r->h, &m);
		if (module == HEAP_NONE ||
		    !array_room(&r->maps, r->n_maps + 1, &r->cap_maps))
			return err_nomem();
		r->maps[r->n_maps++] =
		    (struct heap_map){m.start, m.end, m.offset, module};
	}
	if (r->n_maps > 0)
		qsort(r->maps, r->n_maps, sizeof(*r->maps), map_order);
	return NULL;
}

uint32_t
heap_find_map(const struct heap_reader *r, uint64_t pc, uint64_t *offset)
{
	uint32_t low = 0, high = r->n_maps;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r->maps[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || pc >= r->maps[low - 1].end)
		return HEAP_NONE;
	*offset = pc - r->maps[low - 1].start + r->maps[low - 1].offset;
	return r->maps[low - 1].module;
}

#define MODULE_MAX 4095 /* bytes of its name in an address's */

/* "module+0x1a", or "0x1a" where there is none; the length. */
static size_t
place_name(char *name, const char *module, uint64_t offset)
{
	size_t n = strnlen(module, MODULE_MAX);
	unsigned digits = 1;

	while (digits < 16 && offset >> 4 * digits != 0)
		digits++;
	memcpy(name, module, n);
	if (n > 0)
		name[n++] = '+';
	name[n++] = '0';
	name[n++] = 'x';
	while (digits-- > 0)
		name[n++] = "0123456789abcdef"[offset >> 4 * digits & 15];
	return n;
}

static bool
name_by_place(struct heap *h, struct heap_address *a, uint32_t none)
{
	char name[MODULE_MAX + 32];
	struct heap_frame f = {.module = none, .build_id = none,
	    .kind = FRAME_ADDRESS, .offset = a->offset};

	if (a->module != HEAP_NONE)
		f.module = h->modules[a->module].name;
	f.name = heap_string(h, name, place_name(name,
	    intern_str(&h->strings, f.module), a->offset));
	if (f.name == HEAP_NONE ||
	    !array_room(&h->frames, h->n_frames + 1, &h->cap_frames))
		return false;
	a->first = h->n_frames;
	a->n = 1;
	h->frames[h->n_frames++] = f;
	return true;
}

bool
heap_name_rest(struct heap *h)
{
	uint32_t none = heap_string(h, "", 0);

	for (uint32_t i = 0; none != HEAP_NONE && i < h->n_addresses; i++) {
		struct heap_address *a = &h->addresses[i];

		if (a->n == 0 && !name_by_place(h, a, none))
			return false;
	}
	return none != HEAP_NONE;
}
