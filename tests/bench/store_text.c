/*
 * What the reference workload takes in other forms, by the slot: folded text
 * and pprof (profile.proto of github.com/google/pprof), each as it is and
 * gzip'd.
 *
 *	store_text POPULATION SLOTS
 *
 * Prints lines "name value unit".
 */
#include <zlib.h>

#include "store/base/buf.h"
#include "workload.h"

/* Members of Profile, Sample, Location, Line and Function. */
enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRINGS = 6,
	TIME = 9, DURATION = 10, PERIOD_TYPE = 11, PERIOD = 12 };

static uint64_t
gzipped(const struct buf *b)
{
	z_stream z = {0};
	uint64_t n;
	uint8_t *out;

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
	        Z_DEFAULT_STRATEGY) != Z_OK)
		exit(1);
	n = deflateBound(&z, b->len);
	out = malloc(n);
	z.next_in = b->data;
	z.avail_in = (uInt)b->len;
	z.next_out = out;
	z.avail_out = (uInt)n;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		exit(1);
	n = z.total_out;
	deflateEnd(&z);
	free(out);
	return n;
}

static void
folded(const struct population *p, const uint16_t *counts, struct buf *out)
{
	uint32_t frames[FRAMES];

	buf_clear(out);
	for (uint32_t i = 0; i < p->n_stacks; i++) {
		uint32_t n = counts[i] > 0 ? population_frames(p, i, frames)
		                           : 0;

		for (uint32_t k = 0; k < n; k++)
			buf_printf(out, "%s%s", k ? ";" : "",
			    p->names[frames[k]]);
		if (counts[i] > 0)
			buf_printf(out, " %d\n", counts[i]);
	}
}

static void
put_number(struct buf *out, unsigned field, uint64_t value)
{
	buf_put_varint(out, field << 3);
	buf_put_varint(out, value);
}

static void
put_bytes(struct buf *out, unsigned field, const void *p, size_t n)
{
	buf_put_varint(out, field << 3 | 2);
	buf_put_varint(out, n);
	buf_put(out, p, n);
}

static void
put_type(struct buf *out, unsigned field, uint64_t type, uint64_t unit)
{
	struct buf b = {0};

	put_number(&b, 1, type);
	put_number(&b, 2, unit);
	put_bytes(out, field, b.data, b.len);
	buf_fini(&b);
}

/* A function and its only location, both numbered `id`. */
static void
put_function(struct buf *out, uint64_t id, uint64_t name)
{
	struct buf b = {0}, line = {0};

	put_number(&line, 1, id);
	put_number(&b, 1, id);
	put_number(&b, 3, 0x400000 + 64 * id);
	put_bytes(&b, 4, line.data, line.len);
	put_bytes(out, LOCATION, b.data, b.len);
	buf_clear(&b);
	put_number(&b, 1, id);
	put_number(&b, 2, name);
	put_bytes(out, FUNCTION, b.data, b.len);
	buf_fini(&b);
	buf_fini(&line);
}

/* Only functions that occur; leaf first, as the format wants it. */
static void
put_sample(struct buf *out, const struct population *p, uint32_t stack,
    unsigned count, uint32_t *ids, uint32_t *n)
{
	uint32_t frames[FRAMES], depth = population_frames(p, stack, frames);
	struct buf b = {0}, packed = {0};

	for (uint32_t k = depth; k-- > 0;) {
		if (ids[frames[k]] == 0)
			ids[frames[k]] = ++*n;
		buf_put_varint(&packed, ids[frames[k]]);
	}
	put_bytes(&b, 1, packed.data, packed.len);
	buf_clear(&packed);
	buf_put_varint(&packed, count);
	buf_put_varint(&packed, count * UINT64_C(10101010));
	put_bytes(&b, 2, packed.data, packed.len);
	put_bytes(out, SAMPLE, b.data, b.len);
	buf_fini(&b);
	buf_fini(&packed);
}

static void
pprof(const struct population *p, const uint16_t *counts, uint64_t slot,
    struct buf *out)
{
	static const char *const strings[] = {"", "samples", "count", "cpu",
	    "nanoseconds"};
	uint32_t ids[DEEP * NAMES] = {0}, names[DEEP * NAMES + 1], n = 0;

	buf_clear(out);
	put_type(out, SAMPLE_TYPE, 1, 2);
	put_type(out, SAMPLE_TYPE, 3, 4);
	for (uint32_t i = 0; i < p->n_stacks; i++) {
		if (counts[i] > 0)
			put_sample(out, p, i, counts[i], ids, &n);
	}
	for (uint32_t i = 0; i < DEEP * NAMES; i++)
		names[ids[i]] = i;
	for (uint32_t id = 1; id <= n; id++)
		put_function(out, id, id + 4);
	for (int i = 0; i < 5; i++)
		put_bytes(out, STRINGS, strings[i], strlen(strings[i]));
	for (uint32_t id = 1; id <= n; id++)
		put_bytes(out, STRINGS, p->names[names[id]],
		    strlen(p->names[names[id]]));
	put_number(out, TIME, slot * (uint64_t)SLOT_NS);
	put_number(out, DURATION, (uint64_t)SLOT_NS);
	put_type(out, PERIOD_TYPE, 3, 4);
	put_number(out, PERIOD, 10101010);
}

int
main(int argc, char **argv)
{
	uint64_t slots, raw = 0, raw_gz = 0, proto = 0, proto_gz = 0;
	struct population *p;
	uint16_t *counts;
	struct buf out = {0};

	if (argc != 3 || (slots = strtoull(argv[2], NULL, 10)) == 0) {
		fprintf(stderr, "usage: store_text POPULATION SLOTS\n");
		return 2;
	}
	p = population_new(argv[1]);
	counts = calloc(p->n_stacks, sizeof(*counts));
	for (uint64_t slot = 0; slot < slots; slot++) {
		population_slot(p, slot, counts);
		folded(p, counts, &out);
		raw += out.len;
		raw_gz += gzipped(&out);
		pprof(p, counts, slot, &out);
		proto += out.len;
		proto_gz += gzipped(&out);
	}
	printf("store_text_folded %.0f B/slot\n", (double)raw / (double)slots);
	printf("store_text_folded_gzip %.0f B/slot\n",
	    (double)raw_gz / (double)slots);
	printf("store_pprof %.0f B/slot\n", (double)proto / (double)slots);
	printf("store_pprof_gzip %.0f B/slot\n",
	    (double)proto_gz / (double)slots);
	if (getenv("PPROF") != NULL) { /* the last slot, for other tools */
		FILE *f = fopen(getenv("PPROF"), "w");

		if (f != NULL && fwrite(out.data, out.len, 1, f) == 1)
			fclose(f);
	}
	buf_fini(&out);
	free(counts);
	return 0;
}
