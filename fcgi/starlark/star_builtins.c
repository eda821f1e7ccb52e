/*
 * Functions that every file knows.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/starlark/star_private.h"

static struct star_value
builtin_len(struct star *s, const struct star_call *c)
{
	struct star_list items;

	if (c->args.n != 1 || c->args.items[0].kind == STAR_UNKNOWN)
		return star_unknown();
	if (c->args.items[0].kind == STAR_TEXT)
		return star_int((int64_t)c->args.items[0].text->n);
	return star_items(s, c->args.items[0], &items)
	    ? star_int((int64_t)items.n)
	    : star_say(s, c->module, c->line, "this has no length");
}

static struct star_value
builtin_range(struct star *s, const struct star_call *c)
{
	struct star_value out = star_list(s, STAR_LIST);
	int64_t from = 0, to, step = 1;

	for (size_t i = 0; i < c->args.n; i++)
		if (c->args.items[i].kind != STAR_INT)
			return star_unknown();
	if (c->args.n == 0 || c->args.n > 3)
		return star_unknown();
	to = c->args.items[c->args.n > 1].i;
	if (c->args.n > 1)
		from = c->args.items[0].i;
	if (c->args.n > 2)
		step = c->args.items[2].i;
	while (step != 0 && (step > 0 ? from < to : from > to)) {
		star_add(s, out.list, star_int(from));
		if (__builtin_add_overflow(from, step, &from))
			break;
	}
	return out;
}

/* str(), repr() */
static struct star_value
builtin_str(struct star *s, const struct star_call *c)
{
	size_t at = s->scratch.len;

	if (c->args.n != 1 || c->args.items[0].kind == STAR_UNKNOWN ||
	    c->args.items[0].kind > STAR_DICT)
		return star_unknown();
	star_print(s, c->args.items[0], c->host->name[0] == 'r');
	return star_taken(s, at);
}

/* list(), tuple(), reversed(); a depset has what it is made of */
static struct star_value
builtin_list(struct star *s, const struct star_call *c)
{
	struct star_value out = star_list(s, c->host->name[0] == 't'
	    ? STAR_TUPLE : STAR_LIST);
	bool back = c->host->name[0] == 'r';
	struct star_list items;

	if (c->args.n == 0)
		return out;
	if (!star_items(s, c->args.items[0], &items))
		return c->args.items[0].kind == STAR_UNKNOWN
		    ? star_unknown() : star_say(s, c->module, c->line,
		        "this is no list");
	for (size_t i = 0; i < items.n; i++)
		star_add(s, out.list,
		    items.items[back ? items.n - 1 - i : i]);
	return out;
}

static struct star_value
builtin_dict(struct star *s, const struct star_call *c)
{
	struct star_value out = star_dict(s, STAR_DICT);
	struct star_list pairs = {0};

	if (c->args.n > 0 && c->args.items[0].kind == STAR_DICT) {
		for (size_t i = 0; i < c->args.items[0].dict->n; i++)
			star_set(s, out.dict,
			    c->args.items[0].dict->pairs[i].key,
			    c->args.items[0].dict->pairs[i].value);
	} else if (c->args.n > 0 &&
	    !star_items(s, c->args.items[0], &pairs)) {
		return star_unknown();
	}
	for (size_t i = 0; i < pairs.n; i++) {
		struct star_list pair;

		if (star_items(s, pairs.items[i], &pair) && pair.n == 2)
			star_set(s, out.dict, pair.items[0], pair.items[1]);
	}
	for (size_t i = 0; i < c->named.n; i++)
		star_set(s, out.dict, c->named.pairs[i].key,
		    c->named.pairs[i].value);
	return out;
}

/* By insertion: lists of a BUILD file are short, and equals keep order. */
static struct star_value
builtin_sorted(struct star *s, const struct star_call *c)
{
	struct star_value out = builtin_list(s, c), *key, *back;
	struct star_list keys = {0};
	struct star_call one;

	if (out.kind != STAR_LIST)
		return out;
	key = star_field(s, &c->named, "key");
	back = star_field(s, &c->named, "reverse");
	for (size_t i = 0; i < out.list->n; i++) {
		struct star_value v = out.list->items[i], k = v;
		size_t at = i;

		if (key != NULL && key->kind != STAR_NONE) {
			one = (struct star_call){.module = c->module,
			    .line = c->line};
			star_add(s, &one.args, v);
			k = star_apply(s, *key, &one);
		}
		star_add(s, &keys, k);
		for (; at > 0; at--) {
			int order = star_order(keys.items[at - 1], k);

			star_step(s, 1);
			if (back != NULL && star_is_true(*back)
			    ? order >= 0 : order <= 0)
				break;
			keys.items[at] = keys.items[at - 1];
			out.list->items[at] = out.list->items[at - 1];
		}
		keys.items[at] = k;
		out.list->items[at] = v;
	}
	return out;
}

static struct star_value
builtin_enumerate(struct star *s, const struct star_call *c)
{
	struct star_value out = star_list(s, STAR_LIST), pair;
	struct star_list items;
	int64_t n = c->args.n > 1 ? c->args.items[1].i : 0;

	if (c->args.n == 0 || !star_items(s, c->args.items[0], &items))
		return star_unknown();
	for (size_t i = 0; i < items.n; i++) {
		pair = star_list(s, STAR_TUPLE);
		star_add(s, pair.list, star_int(n + (int64_t)i));
		star_add(s, pair.list, items.items[i]);
		star_add(s, out.list, pair);
	}
	return out;
}

static struct star_value
builtin_zip(struct star *s, const struct star_call *c)
{
	struct star_value out = star_list(s, STAR_LIST), tuple;
	struct star_list items;

	for (size_t i = 0;; i++) {
		tuple = star_list(s, STAR_TUPLE);
		for (size_t k = 0; k < c->args.n; k++) {
			if (!star_items(s, c->args.items[k], &items))
				return star_unknown();
			if (i >= items.n)
				return out;
			star_add(s, tuple.list, items.items[i]);
		}
		if (c->args.n == 0)
			return out;
		star_add(s, out.list, tuple);
	}
}

static struct star_value
builtin_type(struct star *s, const struct star_call *c)
{
	static const char *const names[] = {[STAR_NONE] = "NoneType",
	    [STAR_BOOL] = "bool", [STAR_INT] = "int", [STAR_TEXT] = "string",
	    [STAR_LIST] = "list", [STAR_TUPLE] = "tuple",
	    [STAR_DICT] = "dict", [STAR_CHOICE] = "select",
	    [STAR_SUM] = "select", [STAR_STRUCT] = "struct",
	    [STAR_FUNCTION] = "function",
	    [STAR_HOST] = "builtin_function_or_method"};

	if (c->args.n != 1 || names[c->args.items[0].kind] == NULL)
		return star_unknown();
	return star_str(s, names[c->args.items[0].kind]);
}

static struct star_value
builtin_bool(struct star *s, const struct star_call *c)
{
	(void)s;
	if (c->args.n > 0 && c->args.items[0].kind == STAR_UNKNOWN)
		return star_unknown();
	return star_bool(c->args.n > 0 && star_is_true(c->args.items[0]));
}

static struct star_value
builtin_int(struct star *s, const struct star_call *c)
{
	const char *text = star_cstr(star_arg(s, c, 0, "x"));
	char *end;
	long long n;

	if (c->args.n > 0 && c->args.items[0].kind <= STAR_INT &&
	    c->args.items[0].kind >= STAR_BOOL)
		return star_int(c->args.items[0].i);
	if (text == NULL || *text == '\0')
		return star_unknown();
	n = strtoll(text, &end, 10);
	return *end == '\0' ? star_int(n) : star_say(s, c->module, c->line,
	    "this is no number");
}

/* any(), all() */
static struct star_value
builtin_any(struct star *s, const struct star_call *c)
{
	bool any = c->host->name[1] == 'n';
	struct star_list items;

	if (c->args.n != 1 || !star_items(s, c->args.items[0], &items))
		return star_unknown();
	for (size_t i = 0; i < items.n; i++)
		if (star_is_true(items.items[i]) == any)
			return star_bool(any);
	return star_bool(!any);
}

/* min(), max() */
static struct star_value
builtin_best(struct star *s, const struct star_call *c)
{
	struct star_list items = c->args;
	struct star_value best;

	if (items.n == 1 && !star_items(s, c->args.items[0], &items))
		return star_unknown();
	if (items.n == 0)
		return star_unknown();
	best = items.items[0];
	for (size_t i = 1; i < items.n; i++)
		if (c->host->name[1] == 'i'
		    ? star_order(items.items[i], best) < 0
		    : star_order(items.items[i], best) > 0)
			best = items.items[i];
	return best;
}

/* hasattr(), getattr() */
static struct star_value
builtin_attr(struct star *s, const struct star_call *c)
{
	const char *name = star_cstr(star_arg(s, c, 1, "name"));
	struct star_value *of = star_arg(s, c, 0, "x"), *v = NULL;

	if (of == NULL || name == NULL || of->kind == STAR_UNKNOWN)
		return star_unknown();
	if (of->kind == STAR_STRUCT)
		v = star_field(s, of->dict, name);
	if (c->host->name[0] == 'h')
		return star_bool(v != NULL || (of->kind == STAR_NATIVE &&
		    s->ops->name(s, c->module, name).kind != STAR_UNKNOWN));
	return v != NULL ? *v : c->args.n > 2 ? c->args.items[2]
	    : star_method(s, *of, name);
}

static struct star_value
builtin_fail(struct star *s, const struct star_call *c)
{
	const char *text = star_cstr(star_arg(s, c, 0, "msg"));

	return star_say(s, c->module, c->line, "fail(): %.150s",
	    text != NULL ? text : "");
}

static struct star_value
builtin_struct(struct star *s, const struct star_call *c)
{
	struct star_value out = star_dict(s, STAR_STRUCT);

	*out.dict = c->named;
	return out;
}

static struct star_value
builtin_select(struct star *s, const struct star_call *c)
{
	const struct star_value *v = star_arg(s, c, 0, "x");
	struct star_value out;

	if (v == NULL || v->kind != STAR_DICT)
		return star_say(s, c->module, c->line,
		    "what select() chooses from is not known");
	out = star_dict(s, STAR_CHOICE);
	*out.dict = *v->dict;
	out.dict->index = NULL;
	return out;
}

static struct star_value
builtin_nothing(struct star *s, const struct star_call *c)
{
	(void)s;
	(void)c;
	return star_none();
}

/* provider(): calls of it make something; nobody looks into it. */
static struct star_value
builtin_provider(struct star *s, const struct star_call *c)
{
	(void)c;
	return star_host(s, "struct", builtin_struct, star_none());
}

static const struct {
	const char *name;
	star_fn *fn;
} builtins[] = {
    {"len", builtin_len}, {"range", builtin_range}, {"str", builtin_str},
    {"repr", builtin_str}, {"list", builtin_list}, {"tuple", builtin_list},
    {"reversed", builtin_list}, {"depset", builtin_list},
    {"dict", builtin_dict}, {"sorted", builtin_sorted},
    {"enumerate", builtin_enumerate}, {"zip", builtin_zip},
    {"type", builtin_type}, {"bool", builtin_bool}, {"int", builtin_int},
    {"any", builtin_any}, {"all", builtin_any}, {"min", builtin_best},
    {"max", builtin_best}, {"hasattr", builtin_attr},
    {"getattr", builtin_attr}, {"fail", builtin_fail},
    {"print", builtin_nothing}, {"struct", builtin_struct},
    {"select", builtin_select}, {"provider", builtin_provider},
    {"aspect", builtin_nothing}, {"visibility", builtin_nothing},
};

static void
builtins_set(void *arg)
{
	struct star *s = arg;
	struct star_dict *u = &s->universe;

	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		star_set(s, u, star_str(s, builtins[i].name), star_host(s,
		    builtins[i].name, builtins[i].fn, star_none()));
	star_set(s, u, star_str(s, "True"), star_bool(true));
	star_set(s, u, star_str(s, "False"), star_bool(false));
	star_set(s, u, star_str(s, "None"), star_none());
	star_set(s, u, star_str(s, "native"),
	    (struct star_value){.kind = STAR_NATIVE});
}

void
star_init(struct star *s, const struct star_ops *ops, void *owner)
{
	*s = (struct star){.ops = ops, .owner = owner};
	arena_init(&s->arena, STAR_MEMORY_MAX);
	s->steps_max = STAR_STEPS_MAX;
	star_try(s, builtins_set, s);
}

void
star_fini(struct star *s)
{
	arena_fini(&s->arena);
	buf_fini(&s->scratch);
}
