/*
 * What values can do: formats, methods.
 */
#include <string.h>

#include "fcgi/starlark/star_private.h"

/* ---- formats ---- */

struct star_value
star_percent(struct star *s, struct star_value format, struct star_value v)
{
	size_t at = s->scratch.len, n = 0;
	const char *end = format.text->p + format.text->n;
	struct star_list one = {&v, 1, 1}, *args = v.kind == STAR_TUPLE
	    ? v.list : &one;

	for (const char *p = format.text->p; p < end; p++) {
		if (*p != '%' || p + 1 == end) {
			buf_put_u8(&s->scratch, (uint8_t)*p);
		} else if (*++p == '%') {
			buf_put_u8(&s->scratch, '%');
		} else if (n < args->n) {
			star_print(s, args->items[n++], *p == 'r');
		}
	}
	return star_taken(s, at);
}

/* "{}", "{0}", "{name}", "{{". */
static struct star_value
method_format(struct star *s, const struct star_call *c)
{
	const struct star_text *t = c->host->self.text;
	size_t at = s->scratch.len, next = 0, n;
	const struct star_value *v;
	char name[64];

	for (const char *p = t->p; *p != '\0'; p++) {
		if ((*p == '{' || *p == '}') && p[1] == *p) {
			buf_put_u8(&s->scratch, (uint8_t)*p++);
			continue;
		}
		if (*p != '{') {
			buf_put_u8(&s->scratch, (uint8_t)*p);
			continue;
		}
		n = strcspn(++p, "}");
		if (p[n] == '\0' || n >= sizeof(name))
			break;
		memcpy(name, p, n);
		name[n] = '\0';
		p += n;
		v = n == 0 || (name[0] >= '0' && name[0] <= '9' && n < 4)
		    ? star_arg(s, c, n == 0 ? next++
		        : (size_t)(name[0] - '0') + (n > 1 ? 1000 : 0), "")
		    : star_field(s, &c->named, name);
		if (v == NULL || v->kind == STAR_UNKNOWN) {
			s->scratch.len = at;
			return v != NULL ? *v : star_say(s, c->module,
			    c->line, "{%s} has no value", name);
		}
		star_print(s, *v, false);
	}
	return star_taken(s, at);
}

/* ---- texts ---- */

static struct star_value
method_join(struct star *s, const struct star_call *c)
{
	const struct star_text *sep = c->host->self.text;
	size_t at = s->scratch.len;
	struct star_list items;

	if (c->args.n != 1 || !star_items(s, c->args.items[0], &items))
		return star_unknown();
	for (size_t i = 0; i < items.n; i++) {
		if (items.items[i].kind != STAR_TEXT) {
			s->scratch.len = at;
			return star_unknown();
		}
		if (i > 0)
			buf_put(&s->scratch, sep->p, sep->n);
		star_print(s, items.items[i], false);
	}
	return star_taken(s, at);
}

static struct star_value
method_replace(struct star *s, const struct star_call *c)
{
	const char *from = star_cstr(star_arg(s, c, 0, "old")),
	    *to = star_cstr(star_arg(s, c, 1, "new")), *found,
	    *p = c->host->self.text->p;
	const struct star_value *count = star_arg(s, c, 2, "count");
	int64_t left = count != NULL && count->kind == STAR_INT ? count->i
	    : INT64_MAX;
	size_t at = s->scratch.len;

	if (from == NULL || to == NULL || *from == '\0')
		return star_unknown();
	for (; left-- > 0 && (found = strstr(p, from)) != NULL;
	     p = found + strlen(from)) {
		star_step(s, 1 + strlen(to));
		buf_put(&s->scratch, p, (size_t)(found - p));
		buf_put(&s->scratch, to, strlen(to));
	}
	buf_put(&s->scratch, p, strlen(p));
	return star_taken(s, at);
}

/* By a text, at most so often; or by blanks.  rsplit() by its end. */
static struct star_value
method_split(struct star *s, const struct star_call *c)
{
	const char *sep = star_cstr(star_arg(s, c, 0, "sep")), *found,
	    *p = c->host->self.text->p;
	const struct star_value *most = star_arg(s, c, 1, "maxsplit");
	struct star_value out = star_list(s, STAR_LIST);
	int64_t left = most != NULL && most->kind == STAR_INT ? most->i
	    : INT64_MAX, all = 0;

	if (sep == NULL) {
		for (p += strspn(p, " \t\r\n"); *p != '\0';
		     p += strspn(p, " \t\r\n")) {
			size_t n = strcspn(p, " \t\r\n");

			star_add(s, out.list, star_text(s, p, n));
			p += n;
		}
		return out;
	}
	if (*sep == '\0')
		return star_unknown();
	for (found = p; (found = strstr(found, sep)) != NULL;
	     found += strlen(sep))
		all++;
	found = p;
	if (c->host->name[0] == 'r')
		for (; all > left && (found = strstr(found, sep)) != NULL;
		     all--)
			found += strlen(sep);
	for (; left-- > 0 && found != NULL &&
	     (found = strstr(found, sep)) != NULL; p = found += strlen(sep))
		star_add(s, out.list, star_text(s, p, (size_t)(found - p)));
	star_add(s, out.list, star_str(s, p));
	return out;
}

/* strip(), lstrip(), rstrip() */
static struct star_value
method_strip(struct star *s, const struct star_call *c)
{
	const char *set = star_cstr(star_arg(s, c, 0, "chars")),
	    *p = c->host->self.text->p;
	size_t n = c->host->self.text->n;

	if (set == NULL)
		set = " \t\r\n\v\f";
	while (c->host->name[0] != 'r' && n > 0 && *p != '\0' &&
	    strchr(set, *p) != NULL) {
		p++;
		n--;
	}
	while (c->host->name[0] != 'l' && n > 0 && p[n - 1] != '\0' &&
	    strchr(set, p[n - 1]) != NULL)
		n--;
	return star_text(s, p, n);
}

static bool
method_has_end(const struct star_text *t, const struct star_text *end,
    bool last)
{
	return t->n >= end->n && memcmp(t->p + (last ? t->n - end->n : 0),
	    end->p, end->n) == 0;
}

/* startswith(), endswith() of a text or any of a tuple */
static struct star_value
method_with(struct star *s, const struct star_call *c)
{
	struct star_value *v = star_arg(s, c, 0, "sub");
	bool last = c->host->name[0] == 'e';
	struct star_list items, one = {v, 1, 1};

	if (v == NULL || v->kind == STAR_UNKNOWN)
		return star_unknown();
	if (!star_items(s, *v, &items))
		items = one;
	for (size_t i = 0; i < items.n; i++)
		if (items.items[i].kind == STAR_TEXT && method_has_end(
		        c->host->self.text, items.items[i].text, last))
			return star_bool(true);
	return star_bool(false);
}

/* removeprefix(), removesuffix() */
static struct star_value
method_remove_end(struct star *s, const struct star_call *c)
{
	const struct star_value *v = star_arg(s, c, 0, "x");
	const struct star_text *t = c->host->self.text;
	bool last = strcmp(c->host->name, "removesuffix") == 0;

	if (v == NULL || v->kind != STAR_TEXT)
		return star_unknown();
	if (!method_has_end(t, v->text, last))
		return c->host->self;
	return star_text(s, t->p + (last ? 0 : v->text->n),
	    t->n - v->text->n);
}

static struct star_value
method_case(struct star *s, const struct star_call *c)
{
	struct star_value out = star_text(s, c->host->self.text->p,
	    c->host->self.text->n);
	char low = c->host->name[0] == 'l' ? 'A' : 'a',
	     *p = (char *)(uintptr_t)out.text->p;
	size_t n = c->host->name[0] == 'c' && out.text->n > 0
	    ? 1 : out.text->n;

	for (size_t i = 0; i < n; i++)
		if (p[i] >= low && p[i] <= low + 25)
			p[i] ^= 32;
	return out;
}

/* find(), rfind(), count() */
static struct star_value
method_find(struct star *s, const struct star_call *c)
{
	const char *what = star_cstr(star_arg(s, c, 0, "sub")),
	    *from = c->host->self.text->p;
	int64_t at = -1, count = 0;

	if (what == NULL || *what == '\0')
		return star_unknown();
	for (const char *p = from; (p = strstr(p, what)) != NULL; p++) {
		if (at < 0 || c->host->name[0] == 'r')
			at = p - from;
		count++;
		if (c->host->name[0] == 'c')
			p += strlen(what) - 1;
	}
	return star_int(c->host->name[0] == 'c' ? count : at);
}

/* partition(), rpartition() */
static struct star_value
method_partition(struct star *s, const struct star_call *c)
{
	const char *sep = star_cstr(star_arg(s, c, 0, "sep")), *at = NULL,
	    *p = c->host->self.text->p;
	struct star_value out = star_list(s, STAR_TUPLE);

	if (sep == NULL || *sep == '\0')
		return star_unknown();
	for (const char *q = p; (q = strstr(q, sep)) != NULL; q++)
		if (at == NULL || c->host->name[0] == 'r')
			at = q;
	star_add(s, out.list, at != NULL ? star_text(s, p, (size_t)(at - p))
	    : star_str(s, c->host->name[0] == 'r' ? "" : p));
	star_add(s, out.list, star_str(s, at != NULL ? sep : ""));
	star_add(s, out.list, star_str(s, at != NULL ? at + strlen(sep)
	    : c->host->name[0] == 'r' ? p : ""));
	return out;
}

/* ---- lists ---- */

static struct star_value
method_append(struct star *s, const struct star_call *c)
{
	struct star_list items;

	if (c->args.n != 1)
		return star_unknown();
	if (c->host->name[0] == 'a') {
		star_add(s, c->host->self.list, c->args.items[0]);
	} else if (star_items(s, c->args.items[0], &items)) {
		for (size_t i = 0; i < items.n; i++)
			star_add(s, c->host->self.list, items.items[i]);
	} else {
		return star_say(s, c->module, c->line,
		    "what is added is not known");
	}
	return star_none();
}

static struct star_value
method_insert(struct star *s, const struct star_call *c)
{
	struct star_list *list = c->host->self.list;
	size_t at;

	if (c->args.n != 2 || c->args.items[0].kind != STAR_INT)
		return star_unknown();
	at = c->args.items[0].i < 0 ? 0 : (size_t)c->args.items[0].i;
	star_add(s, list, c->args.items[1]);
	for (size_t i = list->n - 1; i > at; i--)
		list->items[i] = list->items[i - 1];
	if (at < list->n)
		list->items[at] = c->args.items[1];
	return star_none();
}

/* remove() by value, pop() by place */
static struct star_value
method_take(struct star *s, const struct star_call *c)
{
	struct star_list *list = c->host->self.list;
	struct star_value v;
	size_t at = list->n - 1;

	if (c->host->name[0] == 'p' && c->args.n == 1)
		at = (size_t)c->args.items[0].i;
	if (c->host->name[0] == 'r')
		for (at = 0; c->args.n == 1 && at < list->n; at++)
			if (star_is_equal(s, list->items[at],
			        c->args.items[0]))
				break;
	if (at >= list->n)
		return star_unknown();
	v = list->items[at];
	list->n--;
	for (; at < list->n; at++)
		list->items[at] = list->items[at + 1];
	return c->host->name[0] == 'p' ? v : star_none();
}

/* ---- dictionaries ---- */

/* get(), setdefault(), pop() */
static struct star_value
method_get(struct star *s, const struct star_call *c)
{
	struct star_dict *d = c->host->self.dict;
	struct star_value *key = star_arg(s, c, 0, "key"),
	    *other = star_arg(s, c, 1, "default"), *found, v;

	if (key == NULL)
		return star_unknown();
	found = star_get(s, d, *key);
	v = found != NULL ? *found : other != NULL ? *other : star_none();
	if (c->host->name[0] == 's' && found == NULL)
		star_set(s, d, *key, v);
	if (c->host->name[0] == 'p' && found != NULL) {
		size_t at = (size_t)((struct star_pair *)((char *)found -
		    offsetof(struct star_pair, value)) - d->pairs);

		for (d->n--; at < d->n; at++)
			d->pairs[at] = d->pairs[at + 1];
		d->index = NULL;
	}
	return v;
}

/* keys(), values(), items() */
static struct star_value
method_pairs(struct star *s, const struct star_call *c)
{
	struct star_value out = star_list(s, STAR_LIST), pair;
	const struct star_dict *d = c->host->self.dict;

	for (size_t i = 0; i < d->n; i++) {
		pair = c->host->name[0] == 'k' ? d->pairs[i].key
		    : d->pairs[i].value;
		if (c->host->name[0] == 'i') {
			pair = star_list(s, STAR_TUPLE);
			star_add(s, pair.list, d->pairs[i].key);
			star_add(s, pair.list, d->pairs[i].value);
		}
		star_add(s, out.list, pair);
	}
	return out;
}

static struct star_value
method_update(struct star *s, const struct star_call *c)
{
	const struct star_dict *from = c->args.n == 1 &&
	    c->args.items[0].kind == STAR_DICT ? c->args.items[0].dict : NULL;

	for (size_t i = 0; from != NULL && i < from->n; i++)
		star_set(s, c->host->self.dict, from->pairs[i].key,
		    from->pairs[i].value);
	for (size_t i = 0; i < c->named.n; i++)
		star_set(s, c->host->self.dict, c->named.pairs[i].key,
		    c->named.pairs[i].value);
	return from == NULL && c->args.n > 0 ? star_say(s, c->module, c->line,
	    "what is added is not known") : star_none();
}

/* ---- all ---- */

static const struct {
	enum star_kind of;
	const char *name;
	star_fn *fn;
} methods[] = {
    {STAR_TEXT, "format", method_format},
    {STAR_TEXT, "join", method_join},
    {STAR_TEXT, "replace", method_replace},
    {STAR_TEXT, "split", method_split},
    {STAR_TEXT, "rsplit", method_split},
    {STAR_TEXT, "strip", method_strip},
    {STAR_TEXT, "lstrip", method_strip},
    {STAR_TEXT, "rstrip", method_strip},
    {STAR_TEXT, "startswith", method_with},
    {STAR_TEXT, "endswith", method_with},
    {STAR_TEXT, "removeprefix", method_remove_end},
    {STAR_TEXT, "removesuffix", method_remove_end},
    {STAR_TEXT, "lower", method_case},
    {STAR_TEXT, "upper", method_case},
    {STAR_TEXT, "capitalize", method_case},
    {STAR_TEXT, "find", method_find},
    {STAR_TEXT, "rfind", method_find},
    {STAR_TEXT, "count", method_find},
    {STAR_TEXT, "partition", method_partition},
    {STAR_TEXT, "rpartition", method_partition},
    {STAR_LIST, "append", method_append},
    {STAR_LIST, "extend", method_append},
    {STAR_LIST, "insert", method_insert},
    {STAR_LIST, "remove", method_take},
    {STAR_LIST, "pop", method_take},
    {STAR_DICT, "get", method_get},
    {STAR_DICT, "setdefault", method_get},
    {STAR_DICT, "pop", method_get},
    {STAR_DICT, "keys", method_pairs},
    {STAR_DICT, "values", method_pairs},
    {STAR_DICT, "items", method_pairs},
    {STAR_DICT, "update", method_update},
};

struct star_value
star_method(struct star *s, struct star_value v, const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].of == v.kind &&
		    strcmp(methods[i].name, name) == 0)
			return star_host(s, methods[i].name, methods[i].fn, v);
	return star_none();
}
