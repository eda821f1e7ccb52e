/*
 * Which way is the shortest is counted, not tried.
 */
#include "store/file/column.h"

#include "store/model/series.h"

enum column_mode {
	COLUMN_EQUAL,
	COLUMN_WIDE,
	COLUMN_DELTA,
	COLUMN_DELTA_NIBBLES,
	COLUMN_PLAIN,
	COLUMN_PLAIN_NIBBLES
};

static uint64_t
zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static int64_t
unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* How many times all numbers can be divided by ten. */
static unsigned
column_power(int64_t *v, size_t n)
{
	unsigned power = 0;

	for (;;) {
		bool any = false;

		for (size_t i = 0; i < n; i++) {
			if (v[i] % 10 != 0)
				return power;
			any |= v[i] != 0;
		}
		if (!any)
			return power;
		for (size_t i = 0; i < n; i++)
			v[i] /= 10;
		power++;
	}
}

struct column_cost {
	size_t bytes, nibbles;
};

static void
column_count(struct column_cost *c, uint64_t v)
{
	unsigned bits = v ? 64 - (unsigned)__builtin_clzll(v) : 1;

	c->bytes += (bits + 6) / 7;
	c->nibbles += (bits + 2) / 3;
}

static void
column_put_nibbles(struct buf *out, const uint64_t *v, size_t n)
{
	unsigned half = 0;
	uint8_t byte = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t rest = v[i];

		do {
			uint8_t nibble = (uint8_t)(rest & 7);

			rest >>= 3;
			nibble |= (uint8_t)(rest ? 8 : 0);
			byte |= (uint8_t)(nibble << half);
			half ^= 4;
			if (half == 0) {
				buf_put_u8(out, byte);
				byte = 0;
			}
		} while (rest != 0);
	}
	if (half != 0)
		buf_put_u8(out, byte);
}

static void
column_put_numbers(struct buf *out, bool nibbles, const uint64_t *v, size_t n)
{
	if (nibbles) {
		column_put_nibbles(out, v, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		buf_put_varint(out, v[i]);
}

/* Numbers of 62 bits, so that differences fit. */
static void
column_put_narrow(struct buf *out, int64_t *v, size_t n)
{
	unsigned power = column_power(v, n);
	struct column_cost delta = {0, 0}, plain = {0, 0};
	uint64_t d[COLUMN_MOST], p[COLUMN_MOST];
	size_t d_best, p_best;

	for (size_t i = 0; i < n; i++) {
		p[i] = zigzag(v[i]);
		d[i] = zigzag(i ? v[i] - v[i - 1] : v[i]);
		column_count(&plain, p[i]);
		column_count(&delta, d[i]);
	}
	delta.nibbles = (delta.nibbles + 1) / 2;
	plain.nibbles = (plain.nibbles + 1) / 2;
	d_best = delta.bytes < delta.nibbles ? delta.bytes : delta.nibbles;
	p_best = plain.bytes < plain.nibbles ? plain.bytes : plain.nibbles;
	if (d_best <= p_best) {
		bool nibbles = delta.nibbles < delta.bytes;

		buf_put_u8(out, (uint8_t)(COLUMN_DELTA + nibbles));
		buf_put_u8(out, (uint8_t)power);
		column_put_numbers(out, nibbles, d, n);
	} else {
		bool nibbles = plain.nibbles < plain.bytes;

		buf_put_u8(out, (uint8_t)(COLUMN_PLAIN + nibbles));
		buf_put_u8(out, (uint8_t)power);
		column_put_numbers(out, nibbles, p, n);
	}
}

void
column_put(struct buf *out, const int128 *v, size_t n)
{
	int64_t narrow[COLUMN_MOST];
	bool equal = true, fits = true;

	for (size_t i = 0; i < n; i++) {
		equal &= v[i] == v[0];
		fits &= v[i] < INT64_MAX / 2 && v[i] > INT64_MIN / 2;
		narrow[i] = (int64_t)v[i];
	}
	if (equal) {
		buf_put_u8(out, COLUMN_EQUAL);
		buf_put_zigzag128(out, v[0]);
	} else if (fits) {
		column_put_narrow(out, narrow, n);
	} else {
		buf_put_u8(out, COLUMN_WIDE);
		for (size_t i = 0; i < n; i++)
			buf_put_zigzag128(out, v[i]);
	}
}

static void
column_take_nibbles(struct cur *c, uint64_t *v, size_t n)
{
	unsigned half = 0;
	uint8_t byte = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned shift = 0;
		uint8_t nibble;

		v[i] = 0;
		do {
			if (half == 0)
				byte = cur_u8(c);
			nibble = (uint8_t)(byte >> half & 15);
			half ^= 4;
			if (shift > 63)
				c->bad = true;
			else
				v[i] |= (uint64_t)(nibble & 7) << shift;
			shift += 3;
		} while ((nibble & 8) && !c->bad);
	}
}

static void
column_take_narrow(struct cur *c, uint8_t mode, int128 *v, size_t n)
{
	uint8_t power = cur_u8(c);
	uint64_t raw[COLUMN_MOST];
	int64_t factor, sum = 0;

	if (mode > COLUMN_PLAIN_NIBBLES || power > 18) {
		c->bad = true;
		return;
	}
	if (mode == COLUMN_DELTA_NIBBLES || mode == COLUMN_PLAIN_NIBBLES)
		column_take_nibbles(c, raw, n);
	else
		for (size_t i = 0; i < n; i++)
			raw[i] = cur_varint(c);
	factor = scale_factor(power);
	for (size_t i = 0; i < n; i++) {
		int64_t x = unzigzag(raw[i]);

		if (mode <= COLUMN_DELTA_NIBBLES)
			x = sum = (int64_t)((uint64_t)sum + (uint64_t)x);
		v[i] = (int128)x * factor;
	}
}

void
column_take(struct cur *c, int128 *v, size_t n)
{
	uint8_t mode = cur_u8(c);

	if (mode > COLUMN_WIDE) {
		column_take_narrow(c, mode, v, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = mode == COLUMN_EQUAL && i > 0 ? v[0] : cur_zigzag128(c);
}
