/*
 * Interned frames: records with strings in one arena, a hash beside them.
 */
#include "collector/symbols/frames.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"

#define PLACE_NONE UINT32_MAX

struct record {
	uint64_t hash, offset;
	uint32_t name, module, build_id; /* in the arena */
	uint32_t place; /* there too; PLACE_NONE: not known */
	uint8_t kind;
};

struct frames {
	struct record *records;
	uint32_t *slots; /* number + 1; capacity mask + 1, half full at most */
	uint32_t n, cap, mask, max;
	size_t max_bytes;
	struct buf text;
};

struct frames *
frames_new(uint32_t max, size_t max_bytes)
{
	struct frames *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->max = max;
	f->max_bytes = max_bytes;
	f->mask = 1023;
	f->slots = calloc(f->mask + 1, sizeof(*f->slots));
	if (f->slots == NULL) {
		free(f);
		return NULL;
	}
	return f;
}

void
frames_free(struct frames *f)
{
	if (f == NULL)
		return;
	free(f->records);
	free(f->slots);
	buf_fini(&f->text);
	free(f);
}

void
frames_clear(struct frames *f)
{
	memset(f->slots, 0, ((size_t)f->mask + 1) * sizeof(*f->slots));
	f->n = 0;
	buf_clear(&f->text);
}

static uint64_t
frame_hash(const struct frame *frame)
{
	uint64_t hash = hash64_u64(frame->kind, frame->offset);

	hash = hash64(hash, frame->name, strlen(frame->name) + 1);
	hash = hash64(hash, frame->module, strlen(frame->module) + 1);
	return hash64(hash, frame->build_id, strlen(frame->build_id));
}

static bool
frame_equal(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->offset == b->offset &&
	    strcmp(a->name, b->name) == 0 &&
	    strcmp(a->module, b->module) == 0 &&
	    strcmp(a->build_id, b->build_id) == 0;
}

struct frame
frames_get(const struct frames *f, uint32_t number)
{
	const struct record *r = &f->records[number];
	const char *text = (const char *)f->text.data;

	return (struct frame){.kind = r->kind, .offset = r->offset,
	    .name = text + r->name, .module = text + r->module,
	    .build_id = text + r->build_id};
}

static void
frames_put(struct frames *f, uint32_t number)
{
	uint32_t i = (uint32_t)f->records[number].hash & f->mask;

	while (f->slots[i] != 0)
		i = (i + 1) & f->mask;
	f->slots[i] = number + 1;
}

/* Room for one more record and its slot. */
static bool
frames_grow(struct frames *f)
{
	uint32_t cap = f->cap != 0 ? f->cap * 2 : 512, i, *slots;
	struct record *records;

	if (f->n < f->cap)
		return true;
	records = realloc(f->records, cap * sizeof(*records));
	if (records == NULL)
		return false;
	f->records = records;
	f->cap = cap;
	if (cap * 2 <= f->mask + 1)
		return true;
	slots = calloc(cap * 2, sizeof(*slots));
	if (slots == NULL) {
		f->cap = cap / 2;
		return false;
	}
	free(f->slots);
	f->slots = slots;
	f->mask = cap * 2 - 1;
	for (i = 0; i < f->n; i++)
		frames_put(f, i);
	return true;
}

static uint32_t
frames_text(struct frames *f, const char *s)
{
	uint32_t at = (uint32_t)f->text.len;

	buf_put(&f->text, s, strlen(s) + 1);
	return at;
}

static uint32_t
frames_append(struct frames *f, const struct frame *frame, uint64_t hash)
{
	struct record *r;
	size_t before = f->text.len;

	if (f->n >= f->max || before >= f->max_bytes || !frames_grow(f))
		return FRAMES_NONE;
	r = &f->records[f->n];
	r->kind = (uint8_t)frame->kind;
	r->offset = frame->offset;
	r->hash = hash;
	r->name = frames_text(f, frame->name);
	r->module = frames_text(f, frame->module);
	r->build_id = frames_text(f, frame->build_id);
	r->place = PLACE_NONE;
	if (f->text.failed) {
		f->text.failed = false;
		f->text.len = before;
		return FRAMES_NONE;
	}
	frames_put(f, f->n);
	return f->n++;
}

uint32_t
frames_add(struct frames *f, const struct frame *frame)
{
	uint64_t hash = frame_hash(frame);
	uint32_t i = (uint32_t)hash & f->mask;

	for (; f->slots[i] != 0; i = (i + 1) & f->mask) {
		uint32_t number = f->slots[i] - 1;
		struct frame old;

		if (f->records[number].hash != hash)
			continue;
		old = frames_get(f, number);
		if (frame_equal(&old, frame))
			return number;
	}
	return frames_append(f, frame, hash);
}

bool
frames_set_place(struct frames *f, uint32_t number, const char *place)
{
	size_t before = f->text.len;

	if (before >= f->max_bytes)
		return false;
	f->records[number].place = frames_text(f, place);
	if (!f->text.failed)
		return true;
	f->text.failed = false;
	f->text.len = before;
	f->records[number].place = PLACE_NONE;
	return false;
}

const char *
frames_place(const struct frames *f, uint32_t number)
{
	uint32_t at = f->records[number].place;

	return at == PLACE_NONE ? "" : (const char *)f->text.data + at;
}

size_t
frames_count(const struct frames *f)
{
	return f->n;
}

size_t
frames_bytes(const struct frames *f)
{
	return f->n * sizeof(*f->records) + f->text.len +
	    ((size_t)f->mask + 1) * sizeof(*f->slots);
}

bool
frames_crowded(const struct frames *f)
{
	return f->n > f->max / 4 * 3 || f->text.len > f->max_bytes / 4 * 3;
}
