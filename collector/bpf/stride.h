/*
 * Of events that come as often as programs like, which ones a sample is taken
 * of: about one in `sample_ns` on a CPU, and STRIDE_SPARE at once.  A CPU that
 * has run out takes one of twice as many events; once all that may be spared
 * is there again, of half as many.
 *
 * Which one it is is drawn: of the events of a round, of which each is as wide
 * as likely it is to be sampled, the one in which a random point lies.  A
 * sample stands for as many events as one of them was sampled of, and how many
 * that are does not depend on the point: so each program's share is right, also
 * of one that comes behind another's flood.
 */
#ifndef COLLECTOR_BPF_STRIDE_H
#define COLLECTOR_BPF_STRIDE_H

#ifndef __bpf__ /* kernel.h has these */
#include <linux/types.h>
#include <stdbool.h>
#endif

#include "collector/alloc/alloc_size.h"

#define STRIDE_SPARE 10  /* the ring has room for them, with copies */
#define STRIDE_SAMPLES 8 /* of each stride that is longer */
#define STRIDE_BITS 12   /* one of 4,096 at least */
#define STRIDE_ROUND (1u << STRIDE_BITS)

struct stride {
	__u64 paid_ns; /* up to when samples have been taken */
	__u64 owed;    /* events of samples that could not be sent */
	__u32 doubled; /* one of 2^doubled events is sampled */
	__u32 phase;   /* where in the round the next event is */
	__u32 point;   /* of the round: whose event is sampled */
	__u32 unused;
};

static inline __attribute__((always_inline)) void
stride_change(struct stride *s, int by)
{
	s->doubled = (s->doubled + by) & 15; /* for the verifier */
	s->phase = 0; /* what was of the round was drawn by what it was */
}

static inline __attribute__((always_inline)) void
stride_set(struct stride *s, __u64 now, __u64 sample_ns)
{
	__u64 spare = STRIDE_SPARE * sample_ns;

	for (int i = 0; i < STRIDE_BITS && s->doubled > 0 &&
	     s->paid_ns + spare < now; i++) {
		stride_change(s, -1);
		s->paid_ns += spare / 2;
	}
	if (s->paid_ns + spare < now)
		s->paid_ns = now - spare;
	if (s->paid_ns <= now)
		return;
	s->paid_ns = now - STRIDE_SAMPLES * sample_ns;
	if (s->doubled < STRIDE_BITS)
		stride_change(s, 1);
}

/* One more event: is it to be sampled?  `chance` is a random number. */
static inline __attribute__((always_inline)) bool
stride_counts(struct stride *s, __u64 now, __u64 sample_ns, __u32 chance)
{
	__u32 from, width;

	stride_set(s, now, sample_ns);
	if (s->phase == 0)
		s->point = chance & (STRIDE_ROUND - 1);
	from = s->phase;
	width = STRIDE_ROUND >> (s->doubled & 15);
	s->phase = (from + width) & (STRIDE_ROUND - 1);
	s->paid_ns += sample_ns >> (s->doubled & 15);
	return s->point - from < width;
}

/* The sample of an event that counts: so many events it stands for. */
static inline __attribute__((always_inline)) __u64
stride_take(struct stride *s)
{
	__u64 owed = s->owed;

	s->owed = 0;
	return owed + (1u << (s->doubled & 15));
}

/* It cannot be sent: the next one stands for it, too. */
static inline __attribute__((always_inline)) void
stride_owe(struct stride *s)
{
	s->owed += 1u << (s->doubled & 15);
}

/*
 * Of the objects that are taken, which ones are told of as the ring fills up:
 * one of so many, by chance, which stands for as many: so all stacks have their
 * share, in use, too.  Where it is lost, as many are.
 *
 *	eighths of what is for taken objects, which is half of the ring
 *	0 ─ one of 1 ─ 4 ─ 2 ─ 6 ─ 8 ─ 7 ─ 32 ─ 10 ─ 128 ─ 11 ─ 512 ─ 12 full
 *	0 ─ all that are given back are told ── 10 ─── none ────────────
 *
 * One that is given back may be missed, since the library's table tells it; of
 * what is taken the stack would be lost, with all that it stands for: so there
 * is room for these where those find none.
 */
#define THIN_GAVE_EIGHTHS 10

static inline __attribute__((always_inline)) __u32
thin_out(__u64 eighths)
{
	if (eighths < 7)
		return eighths < 4 ? 1 : eighths < 6 ? 2 : 8;
	return eighths < 10 ? 32 : eighths < 11 ? 128 : 512;
}

/* One more object: for how many it stands; 0: another one stands for it. */
static inline __attribute__((always_inline)) __u64
thin_take(__u64 eighths, __u32 chance)
{
	__u32 times = thin_out(eighths);

	return (chance & (times - 1)) != 0 ? 0 : times;
}

/*
 * What an object stands for that is lost, as objects_weigh() has it, whose
 * exponential there is not here: n + n / (exp(n / mean) - 1) bytes, of which
 * `more` has the second part at each step of n, and what lies between two
 * steps is as good as on a line, to eight parts in a million.  Where the mean
 * is a larger one, so are the steps and the part.
 */
#define WEIGH_SHIFT 13 /* a step: 8 KiB, */
#define WEIGH_STEPS 1024 /* up to 16 means; of more it is its own bytes */
#define WEIGH_OBJECT_SHIFT 10
#define WEIGH_OBJECT (1 << WEIGH_OBJECT_SHIFT) /* one whole object */
#define WEIGH_MAX_SHIFT 47 /* no object has so many bits */

static inline __attribute__((always_inline)) __u64
weigh_size(const volatile __u32 *more, __u64 size)
{
	__u64 bytes = alloc_bytes(size), times = alloc_doublings(size);
	__u64 step, low, high, part;

	if (bytes == 0 || bytes >> WEIGH_MAX_SHIFT != 0 ||
	    times > ALLOC_DOUBLINGS_MAX)
		return 0;
	step = bytes >> times >> WEIGH_SHIFT;
	if (step >= WEIGH_STEPS)
		return bytes;
	step &= WEIGH_STEPS - 1; /* for the verifier */
	part = bytes >> times & ((1 << WEIGH_SHIFT) - 1);
	low = more[step];
	high = more[step + 1];
	low -= (low - high) * part >> WEIGH_SHIFT;
	return bytes + (low << times);
}

/* How many such objects that many bytes are. */
static inline __attribute__((always_inline)) __u64
weigh_objects(__u64 weight, __u64 size)
{
	__u64 bytes = alloc_bytes(size);

	return bytes == 0 ? 0 : (weight << WEIGH_OBJECT_SHIFT) / bytes;
}

#endif
