/*
 * The table of all sources and their switches.  What one cannot do is said once
 * as a fact and once in the log, and never stops another.
 */
#include "collector/sources.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "collector/base/config.h"
#include "collector/base/loop.h"
#include "collector/disk/disk.h"
#include "collector/pbft/pbft.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"

static const struct source_ops *const source_table[] = {
    &source_profiles, &source_disk, &source_pbft, &source_procfs,
    &source_self};

#define SOURCES (sizeof(source_table) / sizeof(source_table[0]))

/* What has a state of its own. */
struct source_part {
	const char *name; /* NULL: there is none */
	char told[320];   /* the fact that was said last */
};

struct source {
	const struct source_ops *ops;
	void *self; /* NULL: off or could not be made */
	struct loop_watch watch;
	bool watched;
	bool stays; /* it goes on over a reload */
	enum source_state state; /* without self */
	char why[300];
	struct source_part parts[SOURCE_PARTS_MAX];
	char complaint[400]; /* the last error that was logged */
};

struct sources {
	struct loop *loop;
	struct source all[SOURCES];
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
source_complain(struct source *o, const struct err *e)
{
	if (e == NULL || strcmp(e->text, o->complaint) == 0)
		return;
	snprintf(o->complaint, sizeof(o->complaint), "%s", e->text);
	log_warn("source %s: %s", o->parts[0].name, e->text);
}

static enum source_state
source_state_of(const struct source *o, size_t part, const char **why)
{
	*why = o->why;
	if (o->self == NULL)
		return o->state;
	return o->ops->state(o->self, part, why);
}

static void
source_poll(struct source *o, int64_t now_ns)
{
	enum spent_on before = spent_begin(o->ops->spends);

	source_complain(o, o->ops->poll(o->self, now_ns));
	spent_begin(before);
}

static void
source_ready(void *arg, uint32_t events)
{
	(void)events;
	source_poll(arg, clock_wall_ns());
}

static void
source_watch(struct sources *s, struct source *o)
{
	const struct err *e;

	o->watch = (struct loop_watch){o->ops->fd(o->self), source_ready, o};
	if (o->watch.fd < 0)
		return;
	e = loop_add(s->loop, &o->watch, EPOLLIN);
	o->watched = e == NULL;
	source_complain(o, e);
}

/* Says in the log how it begins; nothing of what is off. */
static void
source_tell(const struct source *o, size_t part)
{
	const char *why;
	enum source_state state = source_state_of(o, part, &why);

	if (state == SOURCE_ATTACHED)
		log_info("source %s: attached", o->parts[part].name);
	else if (state != SOURCE_OFF)
		log_warn("source %s: %s: %s", o->parts[part].name,
		    source_state_name(state), why ? why : "");
}

static void
source_open(struct sources *s, struct source *o, const struct config *config,
    struct services *services)
{
	const struct err *e = o->ops->open(&o->self, config, services);
	size_t i;

	if (e != NULL) {
		o->self = NULL;
		o->state = SOURCE_NOT_ATTACHED;
		snprintf(o->why, sizeof(o->why), "%.299s", e->text);
	} else if (o->self != NULL) {
		source_watch(s, o);
	}
	for (i = 0; i < SOURCE_PARTS_MAX && o->ops->name(i) != NULL; i++) {
		o->parts[i].name = o->ops->name(i);
		source_tell(o, i);
	}
}

const struct err *
sources_open(struct sources **out, const struct config *config,
    struct services *services, struct loop *loop)
{
	struct sources *s = *out == NULL ? calloc(1, sizeof(*s)) : *out;

	if (s == NULL)
		return err_nomem();
	s->loop = loop;
	for (size_t i = 0; i < SOURCES; i++) {
		s->all[i].ops = source_table[i];
		if (!s->all[i].stays)
			source_open(s, &s->all[i], config, services);
		s->all[i].stays = false;
	}
	*out = s;
	return NULL;
}

static void
source_close(struct sources *s, struct source *o)
{
	if (o->watched)
		loop_remove(s->loop, &o->watch);
	if (o->self != NULL)
		o->ops->close(o->self);
	memset(o, 0, sizeof(*o));
}

void
sources_close_stopped(struct sources *s)
{
	for (size_t i = SOURCES; i-- > 0;)
		if (!s->all[i].stays)
			source_close(s, &s->all[i]);
}

void
sources_close(struct sources *s)
{
	if (s == NULL)
		return;
	for (size_t i = SOURCES; i-- > 0;)
		source_close(s, &s->all[i]);
	free(s);
}

void
sources_poll(struct sources *s, int64_t now_ns)
{
	for (size_t i = 0; i < SOURCES; i++) {
		struct source *o = &s->all[i];

		if (o->self != NULL)
			source_poll(o, now_ns);
	}
}

static void
source_stop(struct source *o)
{
	if (o->self != NULL && o->ops->stop != NULL)
		o->ops->stop(o->self);
}

void
sources_stop(struct sources *s)
{
	for (size_t i = 0; i < SOURCES; i++)
		source_stop(&s->all[i]);
}

static bool
source_has(const struct source *o, size_t part)
{
	return part < SOURCE_PARTS_MAX && o->parts[part].name != NULL;
}

/* Its parts that have worked. */
static void
source_name(const struct source *o, char *text, size_t size)
{
	const char *why;

	for (size_t part = 0; source_has(o, part); part++) {
		enum source_state state = source_state_of(o, part, &why);
		size_t n = strlen(text);

		if (state == SOURCE_ATTACHED || state == SOURCE_DEGRADED)
			snprintf(text + n, size - n, "%s%s",
			    n > 0 ? ", " : "", o->parts[part].name);
	}
}

void
sources_reload(struct sources *s, const struct config *config, char *stopped,
    size_t size)
{
	stopped[0] = '\0';
	for (size_t i = 0; i < SOURCES; i++) {
		struct source *o = &s->all[i];

		o->stays = o->self != NULL && o->ops->reload != NULL &&
		    o->ops->reload(o->self, config);
		if (o->stays)
			continue;
		source_name(o, stopped, size);
		source_stop(o);
	}
}

/* "attached", "not attached: why", "degraded: why", "off". */
static void
source_fact(struct source *o, size_t part, struct batch *b, int64_t time_ns,
    bool always)
{
	struct source_part *p = &o->parts[part];
	enum source_state state;
	struct buf text = {0};
	const char *why;

	state = source_state_of(o, part, &why);
	if (state == SOURCE_ATTACHED || why == NULL)
		why = "";
	fact_put_source(&text, &(struct fact_source){
	    fact_part_of(source_state_name(state)),
	    {why, strnlen(why, sizeof(o->why) - 1)}});
	buf_put_u8(&text, '\0');
	if (!text.failed &&
	    (always || strcmp((char *)text.data, p->told) != 0)) {
		snprintf(p->told, sizeof(p->told), "%s", (char *)text.data);
		batch_add_fact(b, time_ns, FACT_SOURCE, p->name,
		    text.data, text.len - 1);
	}
	buf_fini(&text);
}

static void
source_close_slot(struct source *o, uint64_t slot, struct batch *b,
    int64_t time_ns, bool first)
{
	enum spent_on before = spent_begin(o->ops->spends);

	if (o->self != NULL)
		source_complain(o, o->ops->close_slot(o->self, slot, b,
		    first));
	spent_begin(before);
	for (size_t part = 0; source_has(o, part); part++)
		source_fact(o, part, b, time_ns, first);
}

void
sources_close_slot(struct sources *s, enum sources_which which, uint64_t slot,
    struct batch *b, int64_t time_ns, bool first)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (which == SOURCES_ALL || !s->all[i].stays)
			source_close_slot(&s->all[i], slot, b, time_ns, first);
}

void *
sources_find(struct sources *s, const struct source_ops *ops)
{
	size_t i = 0;

	while (i < SOURCES && s->all[i].ops != ops)
		i++;
	return i < SOURCES ? s->all[i].self : NULL;
}

void
sources_describe(const struct sources *s, char *text, size_t size)
{
	const struct source *o = s->all;
	size_t n = 0;
	const char *why;

	text[0] = '\0';
	for (; o < s->all + SOURCES; o++)
		for (size_t part = 0; source_has(o, part) && n < size; part++)
			n += (size_t)snprintf(text + n, size - n, "%s%s %s",
			    n > 0 ? ", " : "", o->parts[part].name,
			    source_state_name(source_state_of(o, part, &why)));
}
