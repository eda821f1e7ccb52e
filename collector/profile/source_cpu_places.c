/*
 * Where functions were written, as facts: told when they are first seen and
 * then once a day, so that whoever asks for a range finds them in it or not
 * long before.
 */
#include "collector/profile/source_cpu.h"

#include <stdio.h>
#include <string.h>

#include "store/batch/batch.h"
#include "collector/symbols/symbols.h"
#include "collector/symbols/symbols_wire.h"

struct places_target {
	struct batch *batch;
	int64_t time_ns;
};

static void
cpu_put_place(void *arg, const struct frame *f, const char *place)
{
	const struct places_target *t = arg;
	char text[WIRE_PLACE_MAX + 2 * WIRE_BUILD_ID_MAX + 300];

	snprintf(text, sizeof(text), "%s\t%s\t%s", place, f->module,
	    f->build_id);
	batch_add_fact(t->batch, t->time_ns, FACT_PLACE, f->name, text,
	    strlen(text));
}

void
cpu_put_places(struct source *s, uint64_t slot, struct batch *b)
{
	struct places_target t = {b, (int64_t)slot * s->slot_ns};

	symbols_tell_places(s->symbols, s->now_ns, CPU_PLACES_AGAIN_NS,
	    CPU_PLACES_MAX, cpu_put_place, &t);
}
