/*
 * Frames of a file's dictionary: what comes back is what went in, names that
 * are told by module and offset included; and what is malformed is refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/batch/frame_code.h"
#include "tests/unit/test.h"

#define SLOT 1000000000u

static const char *const modules[] = {"", "kv", "kv+0x1", "libc.so.6", "node"};

/* Half of the addresses are called what they are; some what another is. */
static void
put_random_frame(struct batch *b, uint64_t *seed)
{
	char name[64];
	struct frame f = {.name = name, .build_id = ""};

	f.kind = (enum frame_kind)(1 + test_roll(seed, FRAME_MARK));
	f.module = modules[test_roll(seed, 5)];
	f.build_id = test_roll(seed, 3) ? "1f" : "";
	f.offset = test_roll(seed, 3) == 0 ? UINT64_MAX - test_roll(seed, 9)
	                                   : test_roll(seed, 300) * 16;
	snprintf(name, sizeof(name), "function%u", test_roll(seed, 90));
	if (test_roll(seed, 2))
		f.kind = FRAME_ADDRESS;
	if (test_roll(seed, 4) > 0)
		snprintf(name, sizeof(name), "%s+0x%" PRIx64, f.module,
		    f.offset + (test_roll(seed, 9) == 0));
	batch_frame(b, &f);
}

/* Strings in order, as in a file. */
static int
compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct batch *
sorted_batch(unsigned n, uint64_t seed)
{
	struct batch *b = batch_new(SLOT), *out = batch_new(SLOT);
	const char **strings;

	for (unsigned i = 0; i < n; i++)
		put_random_frame(b, &seed);
	strings = calloc(b->strings.n + 1, sizeof(*strings));
	for (uint32_t i = 0; i < b->strings.n; i++)
		strings[i] = batch_str(b, i);
	qsort(strings, b->strings.n, sizeof(*strings), compare_strings);
	for (uint32_t i = 1; i < b->strings.n; i++)
		CHECK_INT(batch_string(out, strings[i], strlen(strings[i])),
		    i);
	for (size_t i = 0; i < b->n_frames; i++) {
		const struct batch_frame *f = &b->frames[i];
		struct frame g = {f->kind, batch_str(b, f->name),
		    batch_str(b, f->module), batch_str(b, f->build_id),
		    f->offset};

		batch_frame(out, &g);
	}
	/* a name of an address that something else is called, too */
	if (b->n_frames > 0)
		batch_add_fact(out, 5, FACT_MARK,
		    batch_str(b, b->frames[0].name), "x", 1);
	free(strings);
	batch_free(b);
	return out;
}

static void
check_same(const struct batch *a, const struct batch *b)
{
	CHECK_INT(a->strings.n, b->strings.n);
	CHECK_INT(a->n_frames, b->n_frames);
	for (uint32_t i = 0; i < a->strings.n && i < b->strings.n; i++)
		CHECK_STR(batch_str(a, i), batch_str(b, i));
	for (size_t i = 0; i < a->n_frames && i < b->n_frames; i++) {
		const struct batch_frame *x = &a->frames[i];
		const struct batch_frame *y = &b->frames[i];

		CHECK(x->kind == y->kind && x->name == y->name &&
		    x->module == y->module && x->build_id == y->build_id &&
		    x->offset == y->offset);
	}
	if (a->n_facts > 0 && b->n_facts > 0)
		CHECK_INT(a->facts[0].subject, b->facts[0].subject);
}

static void
check_of(unsigned n, uint64_t seed)
{
	struct batch *before = sorted_batch(n, seed);
	struct batch *told = sorted_batch(n, seed), *back = NULL;
	struct buf out = {0};

	CHECK_OK(batch_encode_dict(told, &out));
	if (n >= 500) /* or there was nothing to be tested */
		CHECK(told->strings.n < before->strings.n / 10 * 9);
	CHECK_OK(batch_decode_dict(out.data, out.len, &back));
	if (back != NULL)
		check_same(before, back);
	batch_free(back);
	batch_free(told);
	batch_free(before);
	buf_fini(&out);
}

TEST(frames_and_names_come_back)
{
	for (unsigned n = 0; n < 200; n += 1 + n / 8)
		check_of(n, n);
	check_of(3000, 7);
}

/* Each row of 64 by itself, the last one first. */
TEST(rows_are_read_alone)
{
	uint64_t seed = 3;
	struct batch_frame frames[200], got;
	struct frame_code put = {0}, take = {0};
	size_t at[5] = {0};
	struct buf out = {0};

	for (uint32_t i = 0; i < 200; i++) {
		frames[i] = (struct batch_frame){
		    (uint8_t)(1 + test_roll(&seed, 3)), test_roll(&seed, 500),
		    test_roll(&seed, 9), test_roll(&seed, 3),
		    test_roll(&seed, 1u << 30)};
		if (frames[i].kind == FRAME_ADDRESS && i % 2)
			frames[i].name = INTERN_NONE;
		if (i % FRAME_CODE_ROW == 0)
			at[i / FRAME_CODE_ROW] = out.len;
		frame_code_put(&put, &out, i, &frames[i]);
	}
	for (uint32_t row = 4; row-- > 0;) {
		struct cur c = cur_of(out.data + at[row], out.len - at[row]);

		for (uint32_t i = row * FRAME_CODE_ROW;
		     i < 200 && i < (row + 1) * FRAME_CODE_ROW; i++) {
			frame_code_take(&take, &c, i, 500, &got);
			CHECK(!c.bad && got.kind == frames[i].kind &&
			    got.name == frames[i].name &&
			    got.module == frames[i].module &&
			    got.build_id == frames[i].build_id &&
			    got.offset == frames[i].offset);
		}
	}
	buf_fini(&out);
}

static bool
refused(const char *bytes, size_t n)
{
	struct frame_code code = {0};
	struct batch_frame f;
	struct cur c = cur_of(bytes, n);

	for (uint32_t i = 0; !c.bad && cur_left(&c) > 0; i++)
		frame_code_take(&code, &c, i, 10, &f);
	return c.bad;
}

TEST(what_is_malformed_is_refused)
{
	CHECK(!refused("\0\1\1\2\0\0" "\1\2\0", 9));
	CHECK(refused("\1\2\0", 3));         /* none was used so far */
	CHECK(refused("\0\1\1\2\0\0" "\2\0\0", 9));
	CHECK(refused("\0\0\1\2\0\0", 6));   /* kinds */
	CHECK(refused("\0\11\1\2\0\0", 6));
	CHECK(refused("\0\1\12\2\0\0", 6));  /* strings */
	CHECK(refused("\0\1\1\12\0\0", 6));
	CHECK(refused("\0\1\1\2\24\0", 6));
	CHECK(refused("\0\1\1\2\1\0", 6));   /* before the first */
	CHECK(!refused("\0\2\1\2\0\0", 6));  /* made of module and offset */
	CHECK(refused("\0\1\1\2\0", 5));     /* cut */
}

int
main(void)
{
	RUN(frames_and_names_come_back);
	RUN(rows_are_read_alone);
	RUN(what_is_malformed_is_refused);
	return test_done();
}
