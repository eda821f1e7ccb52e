/*
 * What does not fit is not told, never a part of it: who reads the word
 * believes that there is no more.
 */
#include "store/file/apart.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/fingerprint.h"
#include "store/batch/batch.h"

/* A word that is being written. */
struct apart_word {
	char *at, *end;
	bool full;
};

static void
apart_put(struct apart_word *w, const char *s)
{
	for (; *s != '\0' && !w->full; s++) {
		bool plain = isalnum((unsigned char)*s) ||
		    strchr("._-", *s) != NULL;

		w->full = w->end - w->at < 4;
		if (!w->full)
			w->at += snprintf(w->at, 4, plain ? "%c" : "%%%02x",
			    (unsigned char)*s);
	}
}

static void
apart_put_mark(struct apart_word *w, char mark)
{
	w->full |= w->end - w->at < 2;
	if (!w->full)
		*w->at++ = mark;
}

/* Does the word have this item, from `from` to its end, already, or one that
 * begins with it?  Then it is taken back, with the mark before it. */
static void
apart_once(struct apart_word *w, const char *of, char *from)
{
	size_t n = (size_t)(w->at - from);

	*w->at = '\0';
	for (const char *p = of; p < from && !w->full; p += strcspn(p, ",") + 1)
		if (strncmp(p, from, n) == 0 &&
		    (p[n] == ',' || p[n] == '/')) {
			w->at = from > of ? from - 1 : from;
			return;
		}
}

static void
apart_put_profile(struct apart_word *w, const struct series_desc *d)
{
	char kind[8];

	snprintf(kind, sizeof(kind), "%d", (int)d->kind);
	apart_put_mark(w, '/');
	apart_put(w, kind);
	apart_put_mark(w, '/');
	apart_put(w, d->name);
	apart_put_mark(w, '/');
	apart_put(w, d->unit);
}

/* The items of profiles, or of all else. */
static void
apart_put_items(struct apart_word *w, const struct batch *dict,
    const char *of, bool profiles)
{
	for (uint32_t i = 0; i < dict->n_series && !w->full; i++) {
		struct label labels[BATCH_MAX_LABELS];
		struct series_desc d;
		const char *service;
		char *item;

		batch_series_desc(dict, i, &d, labels, BATCH_MAX_LABELS);
		service = label_find(d.labels, d.n_labels, "service");
		w->full |= service == NULL || *service == '\0';
		if (w->full || series_is_profile(d.kind) != profiles)
			continue;
		if (w->at > of)
			apart_put_mark(w, ',');
		item = w->at;
		apart_put(w, service);
		if (profiles)
			apart_put_profile(w, &d);
		apart_once(w, of, item);
	}
}

#define APART_HASH 4 /* digits */

static void
apart_hash(const char *name, char hash[APART_HASH + 1])
{
	snprintf(hash, APART_HASH + 1, "%04x", (unsigned)(hash64(0, name,
	    strlen(name)) & 0xffff));
}

/* Is it one of those from `list` to `end`? */
static bool
apart_has_hash(const char *list, const char *end, const char *hash)
{
	for (; end - list >= APART_HASH; list += APART_HASH)
		if (memcmp(list, hash, APART_HASH) == 0)
			return true;
	return false;
}

/* Names of what is no profile. */
static void
apart_put_metrics(struct apart_word *w, const struct batch *dict)
{
	char *list = w->at;

	for (uint32_t i = 0; i < dict->n_series && !w->full; i++) {
		const struct batch_series *s = &dict->series[i];
		char hash[APART_HASH + 1];

		if (series_is_profile((enum series_kind)s->kind))
			continue;
		apart_hash(batch_str(dict, s->name), hash);
		if (apart_has_hash(list, w->at, hash))
			continue;
		if (w->end - w->at <= APART_HASH) {
			w->at = list;
			apart_put_mark(w, '*');
			return;
		}
		memcpy(w->at, hash, APART_HASH);
		w->at += APART_HASH;
	}
}

void
apart_tell(const struct batch *dict, char of[APART_OF])
{
	struct apart_word w = {of, of + APART_OF, dict->n_facts > 0};

	apart_put_items(&w, dict, of, true);
	apart_put_items(&w, dict, of, false);
	w.full |= w.at == of; /* it is empty */
	apart_put_mark(&w, ';');
	w.full |= w.end - w.at < 2; /* room for '*' */
	apart_put_metrics(&w, dict);
	*(w.full ? of : w.at) = '\0';
}

bool
apart_may_have_metric(const char *of, const char *name)
{
	const char *list = strrchr(of, ';');
	char hash[APART_HASH + 1];

	apart_hash(name, hash);
	return list == NULL || list[1] == '*' ||
	    apart_has_hash(list + 1, list + strlen(list), hash);
}

/* The bytes up to one of the marks, decoded; room for APART_OF. */
static void
apart_take(const char **at, const char *marks, char *out)
{
	const char *p = *at, *end = p + strcspn(p, marks);
	char hex[3] = "";

	for (size_t n = 0; p < end && n < APART_OF - 1; n++) {
		if (*p == '%' && end - p > 2) {
			memcpy(hex, p + 1, 2);
			*out++ = (char)strtoul(hex, NULL, 16);
			p += 3;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
	*at = end;
}

bool
apart_next(const char **at, struct apart_item *item)
{
	char kind[APART_OF];

	if (**at == ',')
		(*at)++;
	if (**at == '\0' || **at == ';')
		return false;
	apart_take(at, "/,;", item->service);
	item->profile = **at == '/';
	if (!item->profile)
		return true;
	++*at;
	apart_take(at, "/,;", kind);
	item->kind = atoi(kind);
	*at += **at == '/';
	apart_take(at, "/,;", item->name);
	*at += **at == '/';
	apart_take(at, "/,;", item->unit);
	return true;
}

bool
apart_may_have(const char *of, const char *service)
{
	struct apart_item item;

	for (const char *at = of; apart_next(&at, &item);)
		if (strcmp(item.service, service) == 0)
			return true;
	return *of == '\0';
}
