/*
 * Each end is followed by the first beginning that no other end has: two
 * replicas that died are back when two have begun.
 */
#include "fcgi/query/programs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/base/clock.h"

struct programs {
	const struct mark *marks;
	size_t n;
	bool *used; /* beginnings that follow an end, and ends that are told */
};

/* What is told of one name. */
struct programs_word {
	const struct mark *gone, *ended, *back; /* the last ones; or NULL */
	size_t n_gone, n_back;
};

/* The name behind the pid. */
static const char *
programs_name(const struct mark *m)
{
	const char *blank = strchr(m->text, ' ');

	return blank != NULL ? blank + 1 : "";
}

static bool
programs_are_one(const struct mark *a, const struct mark *b)
{
	return strcmp(a->service, b->service) == 0 &&
	    strcmp(programs_name(a), programs_name(b)) == 0;
}

static const struct mark *
programs_follower(struct programs *p, size_t end)
{
	for (size_t i = end + 1; i < p->n; i++) {
		const struct mark *m = &p->marks[i];

		if (p->used[i] || strcmp(m->what, "began") != 0 ||
		    !programs_are_one(m, &p->marks[end]))
			continue;
		p->used[i] = true;
		return m;
	}
	return NULL;
}

static void
programs_follow(struct programs *p, size_t end, int64_t now_ns,
    struct programs_word *word)
{
	const struct mark *m = &p->marks[end];
	const struct mark *back = programs_follower(p, end);

	p->used[end] = true;
	if (back == NULL && now_ns - m->time_ns < PROGRAMS_GONE_NS) {
		word->gone = m;
		word->n_gone++;
	} else if (back != NULL && now_ns - back->time_ns < PROGRAMS_BACK_NS) {
		word->ended = m;
		word->back = back;
		word->n_back++;
	}
}

static void
programs_say(const struct programs_word *word, programs_fn *fn, void *arg)
{
	const struct mark *m = word->gone != NULL ? word->gone : word->ended;
	char why[3 * MARKS_TEXT_MAX], at[40];
	struct tm tm;
	time_t s;

	if (m == NULL)
		return;
	s = (time_t)(m->time_ns / NS_PER_S);
	strftime(at, sizeof(at), "%H:%M:%S UTC", gmtime_r(&s, &tm));
	if (word->n_gone > 1)
		snprintf(why, sizeof(why), "%zu programs have ended and not "
		    "come back, the last one %s (pid %d) at %s", word->n_gone,
		    programs_name(m), atoi(m->text), at);
	else if (word->n_gone == 1)
		snprintf(why, sizeof(why), "%s (pid %d) ended at %s and has "
		    "not come back", programs_name(m), atoi(m->text), at);
	else
		snprintf(why, sizeof(why), "%s (pid %d) ended at %s and came "
		    "back as pid %d%s", programs_name(m), atoi(m->text), at,
		    atoi(word->back->text), word->n_back > 1
		    ? ", not for the first time in five minutes" : "");
	fn(arg, m->service, why);
}

void
programs_judge(const struct mark *marks, size_t n, int64_t now_ns,
    programs_fn *fn, void *arg)
{
	struct programs p = {marks, n, calloc(n + 1, sizeof(bool))};
	size_t since = 0;

	if (p.used == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		if (strcmp(marks[i].what, "memlensd") == 0 &&
		    strcmp(marks[i].text, "start") == 0)
			since = i;
	for (size_t i = since; i < n; i++) {
		struct programs_word word = {NULL, NULL, NULL, 0, 0};

		if (p.used[i] || strcmp(marks[i].what, "ended") != 0)
			continue;
		for (size_t k = i; k < n; k++)
			if (strcmp(marks[k].what, "ended") == 0 &&
			    programs_are_one(&marks[k], &marks[i]))
				programs_follow(&p, k, now_ns, &word);
		programs_say(&word, fn, arg);
	}
	free(p.used);
}
