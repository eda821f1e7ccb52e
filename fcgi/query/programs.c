/*
 * The last end of an instance decides: something of the same port, or number,
 * has come after it, or nothing has.
 */
#include "fcgi/query/programs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/base/clock.h"

/* The text of a mark: PID ' ' COMM [" :" PORT] [" #" NUMBER] and how it ended,
 * " (signal N)" or " (status N)". */
struct programs_text {
	const char *comm, *port, *number, *way; /* the last to the text's end */
	int n_comm, n_port, n_number;           /* 0: it has none */
};

/* What is told of one instance. */
struct programs_word {
	const struct mark *end, *back; /* back: what followed it, or NULL */
	const struct mark *now; /* the last of what did, or its stop */
	size_t n_back;                 /* ends that something followed lately */
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

/* Is there a word of `sign` and digits that ends at `end`?  Its length. */
static int
programs_part(const char *comm, const char **end, char sign)
{
	const char *last = *end, *at = last;

	while (at > comm && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (at == last || at - comm < 2 || at[-1] != sign || at[-2] != ' ')
		return 0;
	at -= 2;
	*end = at;
	return (int)(last - at);
}

static struct programs_text
programs_text(const struct mark *m)
{
	const char *blank = strchr(m->text, ' ');
	struct programs_text t = {.comm = blank != NULL ? blank + 1 : ""};

	t.way = t.number = programs_way(t.comm);
	t.n_number = programs_part(t.comm, &t.number, '#');
	t.port = t.number;
	t.n_port = programs_part(t.comm, &t.port, ':');
	t.n_comm = (int)(t.port - t.comm);
	return t;
}

static bool
programs_is_same(const char *a, int n_a, const char *b, int n_b)
{
	return n_a == n_b && strncmp(a, b, (size_t)n_a) == 0;
}

bool
programs_end(const struct mark *m, struct programs_end *out)
{
	static const struct {
		const char *what, *words;
		bool trouble;
	} ends[] = {
	    {"ended", "ended", true},
	    {"stopped", "was stopped", false},
	    {"fewer", "ended, others of its name go on", false}};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(m->what, ends[i].what) == 0) {
			snprintf(out->words, sizeof(out->words), "%s%s",
			    ends[i].words, programs_text(m).way);
			out->trouble = ends[i].trouble;
			return true;
		}
	return false;
}

/* Is an end one of the instance of another end? */
static bool
programs_are_one(const struct mark *a, const struct mark *b)
{
	struct programs_text x = programs_text(a), y = programs_text(b);

	return strcmp(a->service, b->service) == 0 &&
	    programs_is_same(x.comm, x.n_comm, y.comm, y.n_comm) &&
	    programs_is_same(x.port, x.n_port, y.port, y.n_port) &&
	    (x.n_port != 0 ||
	    programs_is_same(x.number, x.n_number, y.number, y.n_number));
}

static bool
programs_is(const struct mark *m, const char *what)
{
	return strcmp(m->what, what) == 0;
}

/* Has what ended come back with that, or as what is stopped there?  By its
 * port, where it had one; else by its number, whether or not that listens now;
 * who has neither cannot be told. */
static bool
programs_is_back(const struct mark *end, const struct mark *m)
{
	struct programs_text x = programs_text(end), y = programs_text(m);

	if ((!programs_is(m, "began") && !programs_is(m, "listens") &&
	    !programs_is(m, "stopped")) ||
	    strcmp(end->service, m->service) != 0 ||
	    !programs_is_same(x.comm, x.n_comm, y.comm, y.n_comm))
		return false;
	if (x.n_port != 0)
		return programs_is_same(x.port, x.n_port, y.port, y.n_port);
	return x.n_number != 0 &&
	    programs_is_same(x.number, x.n_number, y.number, y.n_number);
}

static void
programs_follow(const struct mark *marks, size_t n, size_t end,
    struct programs_word *word)
{
	word->end = &marks[end];
	word->back = word->now = NULL;
	for (size_t i = end + 1; i < n; i++) {
		if (!programs_is_back(&marks[end], &marks[i]))
			continue;
		word->now = &marks[i];
		if (word->back == NULL)
			word->back = &marks[i];
	}
}

/* How and when: "ended (signal 9) at 12:00:00 UTC". */
static void
programs_say_end(const struct mark *m, char *out, size_t room)
{
	time_t s = (time_t)(m->time_ns / NS_PER_S);
	struct programs_end end = {.words = ""};
	char at[40];
	struct tm tm;

	programs_end(m, &end);
	strftime(at, sizeof(at), "%H:%M:%S UTC", gmtime_r(&s, &tm));
	snprintf(out, room, "%s at %s", end.words, at);
}

/* What has become of it. */
static void
programs_say_now(const struct programs_word *word, char *out, size_t room)
{
	struct programs_text t = programs_text(word->end);
	const char *again = word->n_back > 1 ?
	    ", not for the first time in five minutes" : "";
	char end[MARKS_TEXT_MAX + 80];

	if (word->now == NULL) {
		snprintf(out, room, "%s", t.n_port + t.n_number > 0
		    ? " and has not come back"
		    : "; whether it came back cannot be told");
	} else if (programs_is(word->now, "stopped")) {
		programs_say_end(word->now, end, sizeof(end));
		snprintf(out, room, ", came back as pid %d%s%s and %s",
		    atoi(word->now->text), again, *again ? "," : "", end);
	} else {
		snprintf(out, room, " and came back as pid %d%s",
		    atoi(word->now->text), again);
	}
}

/* The name with its port, else its number, and its end; returns the length. */
static size_t
programs_say_who(const struct mark *m, char *out, size_t room)
{
	struct programs_text t = programs_text(m);
	int n = t.n_comm + (t.n_port != 0 ? t.n_port : t.n_number);
	char end[MARKS_TEXT_MAX + 80];

	programs_say_end(m, end, sizeof(end));
	return (size_t)snprintf(out, room, "%.*s (pid %d) %s", n, t.comm,
	    atoi(m->text), end);
}

static void
programs_say(const struct programs_word *word, programs_fn *fn, void *arg)
{
	char why[4 * MARKS_TEXT_MAX];
	size_t len = programs_say_who(word->end, why, sizeof(why));

	if (len < sizeof(why))
		programs_say_now(word, why + len, sizeof(why) - len);
	fn(arg, true, word->end->service, why);
}

static bool
programs_is_end(const struct mark *m)
{
	return programs_is(m, "ended");
}

/* What is to be told of the instance whose first end is marks[first]. */
static void
programs_judge_one(const struct mark *marks, size_t n, size_t first,
    int64_t now_ns, struct programs_word *word)
{
	for (size_t i = first; i < n; i++) {
		if (!programs_is_end(&marks[i]) ||
		    !programs_are_one(&marks[i], &marks[first]))
			continue;
		programs_follow(marks, n, i, word);
		if (word->back != NULL &&
		    now_ns - word->back->time_ns < PROGRAMS_BACK_NS)
			word->n_back++;
	}
}

/* Has anything of the instance come after its stop? */
static bool
programs_is_past(const struct mark *marks, size_t n, size_t stop)
{
	for (size_t i = stop + 1; i < n; i++)
		if (programs_is_back(&marks[stop], &marks[i]) ||
		    ((programs_is_end(&marks[i]) ||
		    programs_is(&marks[i], "stopped")) &&
		    programs_are_one(&marks[stop], &marks[i])))
			return true;
	return false;
}

static void
programs_tell_stops(const struct mark *marks, size_t n, size_t since,
    int64_t now_ns, programs_fn *fn, void *arg)
{
	char why[2 * MARKS_TEXT_MAX];

	for (size_t i = since; i < n; i++) {
		if (!programs_is(&marks[i], "stopped") ||
		    now_ns - marks[i].time_ns >= PROGRAMS_GONE_NS ||
		    programs_is_past(marks, n, i))
			continue;
		programs_say_who(&marks[i], why, sizeof(why));
		fn(arg, false, marks[i].service, why);
	}
}

void
programs_judge(const struct mark *marks, size_t n, int64_t now_ns,
    programs_fn *fn, void *arg)
{
	size_t since = 0, k;

	for (size_t i = 0; i < n; i++)
		if (programs_is(&marks[i], "memlensd") &&
		    strcmp(marks[i].text, "start") == 0)
			since = i;
	for (size_t i = since; i < n; i++) {
		struct programs_word word = {.n_back = 0};

		if (!programs_is_end(&marks[i]))
			continue;
		for (k = since; k < i; k++)
			if (programs_is_end(&marks[k]) &&
			    programs_are_one(&marks[k], &marks[i]))
				break;
		if (k < i)
			continue; /* told with that one */
		programs_judge_one(marks, n, i, now_ns, &word);
		if (word.back != NULL ? word.n_back > 0
		    : now_ns - word.end->time_ns < PROGRAMS_GONE_NS)
			programs_say(&word, fn, arg);
	}
	programs_tell_stops(marks, n, since, now_ns, fn, arg);
}
