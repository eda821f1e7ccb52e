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

/* The text of a mark: PID ' ' COMM [" :" PORT] [" (signal N)"], or status. */
struct programs_text {
	const char *comm, *port, *way; /* way: to the text's end */
	int n_comm, n_port;            /* 0: it listens on none */
};

static const char *
programs_way(const char *text)
{
	static const char *const ways[] = {" (signal ", " (status "};
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *at = strstr(text, ways[i]);

		if (at != NULL && text[n - 1] == ')')
			return at;
	}
	return text + n;
}

static struct programs_text
programs_text(const struct mark *m)
{
	const char *blank = strchr(m->text, ' ');
	struct programs_text t = {.comm = blank != NULL ? blank + 1 : ""};
	const char *port = strstr(t.comm, " :");

	t.way = programs_way(t.comm);
	if (port == NULL || port > t.way || strspn(port + 2, "0123456789") !=
	    (size_t)(t.way - port - 2))
		port = t.way;
	t.port = port;
	t.n_port = (int)(t.way - port);
	t.n_comm = (int)(port - t.comm);
	return t;
}

/* Replicas are told apart by their ports; one that did not listen yet may be
 * any. */
static bool
programs_are_one(const struct mark *a, const struct mark *b)
{
	struct programs_text x = programs_text(a), y = programs_text(b);

	if (strcmp(a->service, b->service) != 0 || x.n_comm != y.n_comm ||
	    strncmp(x.comm, y.comm, (size_t)x.n_comm) != 0)
		return false;
	return x.n_port == 0 || y.n_port == 0 || (x.n_port == y.n_port &&
	    strncmp(x.port, y.port, (size_t)x.n_port) == 0);
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
	struct programs_text t;
	struct tm tm;
	time_t s;
	int n;

	if (m == NULL)
		return;
	t = programs_text(m);
	n = t.n_comm + t.n_port;
	s = (time_t)(m->time_ns / NS_PER_S);
	strftime(at, sizeof(at), "%H:%M:%S UTC", gmtime_r(&s, &tm));
	if (word->n_gone > 1)
		snprintf(why, sizeof(why), "%zu programs have ended and not "
		    "come back, the last one %.*s (pid %d) at %s%s",
		    word->n_gone, n, t.comm, atoi(m->text), at, t.way);
	else if (word->n_gone == 1)
		snprintf(why, sizeof(why), "%.*s (pid %d) ended at %s%s and "
		    "has not come back", n, t.comm, atoi(m->text), at, t.way);
	else
		snprintf(why, sizeof(why), "%.*s (pid %d) ended at %s%s and "
		    "came back as pid %d%s", n, t.comm, atoi(m->text), at,
		    t.way, atoi(word->back->text), word->n_back > 1
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
