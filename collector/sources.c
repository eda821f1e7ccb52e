/*
 * The table of all sources and their switches.  What one cannot do is said once
 * as a fact and once in the log, and never stops another.
 */
#include "collector/sources.h"

#include "collector/base/config.h"
#include "collector/base/loop.h"

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define ALWAYS SIZE_MAX

/* Which sources there are, and the switch of each in struct config. */
static const struct source_row {
	const struct source_ops *ops;
	size_t enabled;
} source_table[] = {
    {&source_cpu, offsetof(struct config, cpu)},
    {&source_procfs, offsetof(struct config, procfs)},
    {&source_self, ALWAYS},
};

#define SOURCES (sizeof(source_table) / sizeof(source_table[0]))

struct one_source {
	const struct source_ops *ops;
	struct source *source; /* NULL: off or could not be made */
	struct loop_watch watch;
	bool watched;
	enum source_state state; /* without a source */
	char why[300];
	char told[320];     /* the fact that was said last */
	char complaint[400]; /* the last error that was logged */
};

struct sources {
	struct loop *loop;
	struct one_source one[SOURCES];
};

/* "attached", "not attached", "degraded", "off". */
static const char *
source_state_name(enum source_state state)
{
	static const char *const names[] = {
	    [SOURCE_OFF] = "off",
	    [SOURCE_ATTACHED] = "attached",
	    [SOURCE_NOT_ATTACHED] = "not attached",
	    [SOURCE_DEGRADED] = "degraded",
	};

	return names[state];
}

/* An error that repeats itself is logged once. */
static void
source_complain(struct one_source *o, const struct err *e)
{
	if (e == NULL || strcmp(e->text, o->complaint) == 0)
		return;
	snprintf(o->complaint, sizeof(o->complaint), "%s", e->text);
	log_warn("source %s: %s", o->ops->name, e->text);
}

static enum source_state
source_state_of(const struct one_source *o, const char **why)
{
	*why = o->why;
	if (o->source == NULL)
		return o->state;
	return o->ops->state(o->source, why);
}

static void
source_ready(void *arg, uint32_t events)
{
	struct one_source *o = arg;

	(void)events;
	source_complain(o, o->ops->poll(o->source, clock_wall_ns()));
}

static void
source_watch(struct sources *s, struct one_source *o)
{
	const struct err *e;

	o->watch = (struct loop_watch){o->ops->fd(o->source), source_ready, o};
	if (o->watch.fd < 0)
		return;
	e = loop_add(s->loop, &o->watch, EPOLLIN);
	o->watched = e == NULL;
	source_complain(o, e);
}

static void
source_open(struct sources *s, struct one_source *o,
    const struct config *config, struct services *services)
{
	const struct err *e = o->ops->open(&o->source, config, services);
	enum source_state state;
	const char *why;

	if (e != NULL) {
		o->source = NULL;
		o->state = SOURCE_NOT_ATTACHED;
		snprintf(o->why, sizeof(o->why), "%.299s", e->text);
	} else {
		source_watch(s, o);
	}
	state = source_state_of(o, &why);
	if (state == SOURCE_ATTACHED)
		log_info("source %s: attached", o->ops->name);
	else
		log_warn("source %s: %s: %s", o->ops->name,
		    source_state_name(state), why ? why : "");
}

const struct err *
sources_open(struct sources **out, const struct config *config,
    struct services *services, struct loop *loop)
{
	struct sources *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_nomem();
	s->loop = loop;
	for (size_t i = 0; i < SOURCES; i++) {
		const struct source_row *r = &source_table[i];
		struct one_source *o = &s->one[i];

		o->ops = r->ops;
		o->state = SOURCE_OFF;
		if (r->enabled == ALWAYS ||
		    *(const bool *)((const char *)config + r->enabled))
			source_open(s, o, config, services);
	}
	*out = s;
	return NULL;
}

void
sources_close(struct sources *s)
{
	if (s == NULL)
		return;
	for (size_t i = SOURCES; i-- > 0;) {
		struct one_source *o = &s->one[i];

		if (o->watched)
			loop_remove(s->loop, &o->watch);
		if (o->source != NULL)
			o->ops->close(o->source);
	}
	free(s);
}

void
sources_poll(struct sources *s, int64_t now_ns)
{
	for (size_t i = 0; i < SOURCES; i++) {
		struct one_source *o = &s->one[i];

		if (o->source != NULL)
			source_complain(o, o->ops->poll(o->source, now_ns));
	}
}

void
sources_stop(struct sources *s)
{
	for (size_t i = 0; i < SOURCES; i++) {
		struct one_source *o = &s->one[i];

		if (o->source != NULL && o->ops->stop != NULL)
			o->ops->stop(o->source);
	}
}

/* "attached", "not attached: why", "degraded: why", "off". */
static void
source_fact(struct one_source *o, struct batch *b, int64_t time_ns,
    bool always)
{
	enum source_state state;
	struct buf text = {0};
	const char *why;

	state = source_state_of(o, &why);
	if (state == SOURCE_ATTACHED || why == NULL)
		why = "";
	fact_put_source(&text, &(struct fact_source){
	    fact_part_of(source_state_name(state)),
	    {why, strnlen(why, sizeof(o->why) - 1)}});
	buf_put_u8(&text, '\0');
	if (!text.failed &&
	    (always || strcmp((char *)text.data, o->told) != 0)) {
		snprintf(o->told, sizeof(o->told), "%s", (char *)text.data);
		batch_add_fact(b, time_ns, FACT_SOURCE, o->ops->name,
		    text.data, text.len - 1);
	}
	buf_fini(&text);
}

void
sources_close_slot(struct sources *s, uint64_t slot, struct batch *b,
    int64_t time_ns, bool first)
{
	for (size_t i = 0; i < SOURCES; i++) {
		struct one_source *o = &s->one[i];

		if (o->source != NULL)
			source_complain(o, o->ops->close_slot(o->source, slot,
			    b, first));
		source_fact(o, b, time_ns, first);
	}
}

struct source *
sources_find(struct sources *s, const char *name)
{
	for (size_t i = 0; i < SOURCES; i++) {
		if (strcmp(s->one[i].ops->name, name) == 0)
			return s->one[i].source;
	}
	return NULL;
}

void
sources_describe(const struct sources *s, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < SOURCES && n < size; i++) {
		const char *why;

		n += (size_t)snprintf(text + n, size - n, "%s%s %s",
		    i ? ", " : "", s->one[i].ops->name,
		    source_state_name(source_state_of(&s->one[i], &why)));
	}
}
