/*
 * Where functions were written, as facts: told when they are first seen and
 * then once a day, so that whoever asks for a range finds them in it or not
 * long before.
 */
#include "collector/profile/source_cpu.h"

#include "store/batch/batch.h"
#include "collector/symbols/symbols.h"

struct places_target {
	struct batch *batch;
	int64_t time_ns;
};

static void
cpu_put_place(void *arg, const struct frame *f, const char *place)
{
	const struct places_target *t = arg;
	struct fact_place p = {.module = fact_part_of(f->module),
	    .build_id = fact_part_of(f->build_id)};
	struct buf text = {0};

	if (fact_take_line(fact_part_of(place), &p) &&
	    fact_put_place(&text, &p) && !text.failed)
		batch_add_fact(t->batch, t->time_ns, FACT_PLACE, f->name,
		    text.data, text.len);
	buf_fini(&text);
}

void
cpu_put_places(struct source *s, uint64_t slot, struct batch *b)
{
	struct places_target t = {b, (int64_t)slot * s->slot_ns};

	symbols_tell_places(s->symbols, s->now_ns, CPU_PLACES_AGAIN_NS,
	    CPU_PLACES_MAX, cpu_put_place, &t);
}
