/*
 * What a rule's call declares: a target, and the labels among its attributes.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/graph/read/build_private.h"

/* A target in the making. */
struct rule {
	struct build *b;
	const struct star_call *call;
	const char *kind; /* the rule's name; "" of the repository's own */
	const char *name;
	const struct star_value *own; /* of rule(): attrs, outputs, test */
	struct star_dict *needs; /* label -> list of conditions */
};

/* ---- what it needs ---- */

/* What is needed always needs no condition. */
static void
rule_need(struct rule *r, const char *text, struct star_value when)
{
	struct star *s = &r->b->star;
	struct star_value key, *there, list;
	struct build_label label;

	if (!build_label_read(r->b, &r->b->now->place, text, &label)) {
		star_say(s, r->call->module, r->call->line,
		    "\"%.100s\" is no label", text);
		return;
	}
	key = build_label_text(s, &label);
	there = star_get(s, r->needs, key);
	list = star_list(s, STAR_LIST);
	if (when.kind == STAR_NONE || there == NULL) {
		if (when.kind != STAR_NONE)
			star_add(s, list.list, when);
		star_set(s, r->needs, key, list);
	} else if (there->list->n > 0) {
		for (size_t i = 0; i < there->list->n; i++)
			if (star_cstr(&there->list->items[i]) != NULL &&
			    strcmp(there->list->items[i].text->p,
			        when.text->p) == 0)
				return;
		star_add(s, there->list, when);
	}
}

/* A condition as a label; NONE when it is no text. */
static struct star_value
rule_condition(struct rule *r, struct star_value key)
{
	struct build_label label;

	if (key.kind != STAR_TEXT ||
	    !build_label_read(r->b, &r->b->now->place, key.text->p, &label))
		return star_none();
	return build_label_text(&r->b->star, &label);
}

static bool
rule_is_default(struct star_value condition)
{
	return strcmp(condition.text->p, "//conditions:default") == 0;
}

/* Lists hold labels, sums hold lists and choices, choices hold lists: what
 * holds itself ends here. */
static bool
rule_is_part(enum star_kind of, enum star_kind part)
{
	if (part == STAR_SUM)
		return false;
	if (of == STAR_SUM)
		return true;
	return part == STAR_TEXT || part == STAR_UNKNOWN ||
	    (of == STAR_CHOICE && part != STAR_CHOICE);
}

/* Labels of a value, each under its condition; a text or more of them. */
static void
rule_labels(struct rule *r, struct star_value v, struct star_value when)
{
	struct star *s = &r->b->star;
	struct star_value condition;

	switch (v.kind) {
	case STAR_TEXT:
		rule_need(r, v.text->p, when);
		break;
	case STAR_LIST:
	case STAR_TUPLE:
	case STAR_SUM:
		star_step(s, v.list->n);
		for (size_t i = 0; i < v.list->n; i++)
			if (rule_is_part(v.kind, v.list->items[i].kind))
				rule_labels(r, v.list->items[i], when);
		break;
	case STAR_DICT:
		for (size_t i = 0; i < v.dict->n; i++)
			if (v.dict->pairs[i].key.kind == STAR_TEXT)
				rule_labels(r, v.dict->pairs[i].key, when);
		break;
	case STAR_CHOICE:
		for (size_t i = 0; i < v.dict->n; i++) {
			condition = rule_condition(r, v.dict->pairs[i].key);
			if (condition.kind == STAR_TEXT && rule_is_part(
			        STAR_CHOICE, v.dict->pairs[i].value.kind))
				rule_labels(r, v.dict->pairs[i].value,
				    condition);
		}
		break;
	case STAR_UNKNOWN:
		star_say(s, r->call->module, r->call->line,
		    "what \"%.100s\" needs is not known", r->name);
		break;
	default:
		break;
	}
}

/* Whatever it chooses, the conditions are asked. */
static void
rule_conditions(struct rule *r, struct star_value v)
{
	struct star_value condition;

	if (v.kind == STAR_SUM)
		for (size_t i = 0; i < v.list->n; i++)
			if (v.list->items[i].kind == STAR_CHOICE)
				rule_conditions(r, v.list->items[i]);
	if (v.kind != STAR_CHOICE)
		return;
	for (size_t i = 0; i < v.dict->n; i++) {
		condition = rule_condition(r, v.dict->pairs[i].key);
		if (condition.kind == STAR_TEXT && !rule_is_default(condition))
			rule_need(r, condition.text->p, star_none());
	}
}

/* ---- a target ---- */

/* Files that it makes need it. */
static void
rule_outputs(struct rule *r, struct star_value v)
{
	struct star *s = &r->b->star;
	struct star_value target;
	struct star_list one = {&v, 1, 1};
	const struct star_list *list = v.kind == STAR_LIST ||
	    v.kind == STAR_TUPLE ? v.list : &one;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].kind != STAR_TEXT)
			continue;
		target = star_dict(s, STAR_DICT);
		star_set(s, target.dict, build_label_text(s,
		    &(struct build_label){r->b->now->place.repo,
		    r->b->now->place.package, r->name}),
		    star_list(s, STAR_LIST));
		build_visible_made(s, r->call, list->items[i], target.dict);
		star_set(s, &r->b->now->targets, list->items[i], target);
	}
}

/* How a rule of the repository's own declares an attribute, or NULL. */
static const struct star_dict *
rule_declared(struct star *s, const struct star_dict *attrs, const char *name)
{
	const struct star_value *attr = star_field(s, attrs, name);

	return attr != NULL && attr->kind == STAR_STRUCT && name[0] != '_'
	    ? attr->dict : NULL;
}

/* Does the attribute hold what only builds?  A transition(), which is nothing
 * here, builds the same for something else. */
static bool
rule_is_tool(struct star *s, const struct star_dict *attrs, const char *name)
{
	const struct star_dict *attr;
	const struct star_value *cfg;

	if (attrs == NULL)
		return build_native_is_tool(name);
	if ((attr = rule_declared(s, attrs, name)) == NULL ||
	    (cfg = star_field(s, attr, "cfg")) == NULL ||
	    cfg->kind == STAR_NONE)
		return false;
	return cfg->kind != STAR_TEXT || strcmp(cfg->text->p, "target") != 0;
}

/* Attributes of a rule of the repository's own: by how it declares them. */
static const char *
rule_attribute_kind(struct star *s, const struct star_dict *attrs,
    const char *name)
{
	const struct star_dict *attr = rule_declared(s, attrs, name);
	const struct star_value *kind = attr != NULL
	    ? star_field(s, attr, "kind") : NULL;

	return kind != NULL && star_cstr(kind) != NULL ? kind->text->p : "";
}

/* The text with n bytes more. */
static const char *
rule_join(struct star *s, const char *text, const char *more, size_t n)
{
	size_t size = strlen(text) + n + 1;
	char *out = star_alloc(s, size);

	snprintf(out, size, "%s%.*s", text, (int)n, more);
	return out;
}

/* "%{name}.txt" with the attributes of the call; NONE where one of them is no
 * plain text, or a label, which becomes something else. */
static struct star_value
rule_template(struct rule *r, const struct star_dict *attrs, const char *text)
{
	struct star *s = &r->b->star;
	const char *out = "", *end, *value;
	struct star_value name;

	for (size_t n; *text != '\0'; text = end) {
		n = strcspn(text, "%");
		out = rule_join(s, out, text, n);
		end = text + n + (text[n] == '%');
		if (strncmp(text + n, "%{", 2) != 0) {
			if (text[n] == '%')
				out = rule_join(s, out, "%", 1);
			continue;
		}
		text += n + 2;
		n = strcspn(text, "}");
		name = star_text(s, text, n);
		value = star_cstr(star_get(s, &r->call->named, name));
		if (value == NULL || text[n] == '\0' ||
		    (strcmp(name.text->p, "name") != 0 &&
		    strcmp(rule_attribute_kind(s, attrs, name.text->p),
		        "string") != 0))
			return star_none();
		out = rule_join(s, out, value, strlen(value));
		end = text + n + 1;
	}
	return star_str(s, out);
}

/* Files that a rule of the repository's own says it makes. */
static void
rule_own_outputs(struct rule *r)
{
	struct star *s = &r->b->star;
	const struct star_value *outputs = star_field(s, r->own->dict,
	    "outputs"), *attrs = star_field(s, r->own->dict, "attrs");
	struct star_value name;

	for (size_t i = 0; outputs->kind == STAR_DICT &&
	     i < outputs->dict->n; i++) {
		const char *text = star_cstr(&outputs->dict->pairs[i].value);

		name = text != NULL ? rule_template(r, attrs->dict, text)
				    : star_none();
		if (name.kind == STAR_TEXT)
			rule_outputs(r, name);
		else
			star_say(s, r->call->module, r->call->line,
			    "a file that \"%.100s\" makes is not known",
			    r->name);
	}
	if (outputs->kind != STAR_DICT && outputs->kind != STAR_NONE)
		star_say(s, r->call->module, r->call->line,
		    "which files \"%.100s\" makes is not known", r->name);
}

/* And those that bazel's own make without a word. */
static void
rule_native_outputs(struct rule *r)
{
	static const struct {
		const char *kind, *end;
	} table[] = {{"cc_binary", ".stripped"}, {"cc_binary", ".dwp"},
	    {"cc_test", ".dwp"}};
	struct star *s = &r->b->star;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(r->kind, table[i].kind) == 0)
			rule_outputs(r, star_str(s, rule_join(s, r->name,
			    table[i].end, strlen(table[i].end))));
}

/* ---- suites of tests ---- */

static bool
rule_has_tag(const struct rule *r, const char *tag)
{
	struct star_value *v = star_field(&r->b->star, &r->call->named,
	    "tags");

	for (size_t i = 0; v != NULL && (v->kind == STAR_LIST ||
	     v->kind == STAR_TUPLE) && i < v->list->n; i++)
		if (star_cstr(&v->list->items[i]) != NULL &&
		    strcmp(v->list->items[i].text->p, tag) == 0)
			return true;
	return false;
}

static bool
rule_is_test(const struct rule *r)
{
	size_t n = strlen(r->kind);
	const struct star_value *test;

	if (r->own == NULL)
		return n > 5 && strcmp(r->kind + n - 5, "_test") == 0;
	test = star_field(&r->b->star, r->own->dict, "test");
	return test->kind == STAR_BOOL && test->i != 0;
}

/* Whatever its tags: bazel asks those when it expands the suite. */
static void
rule_note_tests(struct rule *r)
{
	struct star *s = &r->b->star;
	struct star_value *tests = star_field(s, &r->call->named, "tests");
	struct star_value name = star_str(s, r->name);

	if (rule_is_test(r) && !rule_has_tag(r, "manual"))
		star_add(s, &r->b->now->tests, name);
	if (strcmp(r->kind, "test_suite") == 0 && (tests == NULL ||
	        tests->kind == STAR_NONE || (tests->kind == STAR_LIST &&
	        tests->list->n == 0)))
		star_add(s, &r->b->now->suites, name);
}

void
build_rules_end(struct build *b, struct build_package *p)
{
	struct star *s = &b->star;

	build_visible_end(s, p);
	for (size_t i = 0; i < p->suites.n; i++) {
		struct star_value *suite = star_get(s, &p->targets,
		    p->suites.items[i]);

		for (size_t k = 0; suite != NULL && k < p->tests.n; k++)
			star_set(s, suite->dict, build_label_text(s,
			    &(struct build_label){p->place.repo,
			    p->place.package, p->tests.items[k].text->p}),
			    star_list(s, STAR_LIST));
	}
}

static void
rule_attribute(struct rule *r, const struct star_dict *attrs,
    const char *name, struct star_value v)
{
	const char *kind = build_native_attribute(attrs != NULL, r->kind,
	    name);

	if (*kind == '\0' && rule_is_tool(&r->b->star, attrs, name))
		return; /* nor are its conditions of the program */
	rule_conditions(r, v);
	if (*kind == '\0' && attrs != NULL)
		kind = rule_attribute_kind(&r->b->star, attrs, name);
	if (strcmp(kind, "groups") == 0)
		build_visible_to(&r->b->star, r->call, &v, r->needs);
	else if (strcmp(kind, "label values") == 0 && v.kind == STAR_DICT)
		for (size_t i = 0; i < v.dict->n; i++)
			rule_labels(r, v.dict->pairs[i].value, star_none());
	else if (strncmp(kind, "label", 5) == 0)
		rule_labels(r, v, star_none());
	else if (strncmp(kind, "output", 6) == 0)
		rule_outputs(r, v);
}

/* own NULL: a rule that comes with bazel, or of which nothing is known. */
static struct star_value
rule_declare(struct star *s, const struct star_call *c, const char *kind,
    const struct star_value *own)
{
	struct rule r = {.b = s->owner, .call = c, .kind = kind, .own = own};
	const struct star_dict *attrs = own == NULL ? NULL
	    : star_field(s, own->dict, "attrs")->dict;
	struct star_value *name = star_field(s, &c->named, "name"), target;

	if (r.b->now == NULL)
		return star_none();
	if (name == NULL || name->kind != STAR_TEXT)
		return star_say(s, c->module, c->line,
		    "a target's name is not known");
	r.name = name->text->p;
	target = star_dict(s, STAR_DICT);
	r.needs = target.dict;
	for (size_t i = 0; i < c->named.n; i++)
		if (c->named.pairs[i].key.kind == STAR_TEXT)
			rule_attribute(&r, attrs,
			    c->named.pairs[i].key.text->p,
			    c->named.pairs[i].value);
	star_set(s, &r.b->now->targets, *name, target);
	if (own != NULL)
		rule_own_outputs(&r);
	else
		rule_native_outputs(&r);
	rule_note_tests(&r);
	return star_none();
}

static struct star_value
rule_native(struct star *s, const struct star_call *c)
{
	return rule_declare(s, c, star_cstr(&c->host->self), NULL);
}

static struct star_value
rule_own(struct star *s, const struct star_call *c)
{
	return rule_declare(s, c, "", &c->host->self);
}

/* Of a repository that is not here: a macro, perhaps, which makes more. */
static struct star_value
rule_missing(struct star *s, const struct star_call *c)
{
	const char *name = star_cstr(&c->host->self);

	if (star_field(s, &c->named, "name") == NULL)
		return star_say(s, c->module, c->line,
		    "%.60s is of a repository that is not here", name);
	if (!build_native_is(name))
		star_say(s, c->module, c->line, "%.60s is of a repository "
		    "that is not here, and is taken for a rule", name);
	return rule_declare(s, c, name, NULL);
}

struct star_value
build_missing(struct star *s, const char *label, const char *name)
{
	(void)label;
	return star_host(s, "rule", rule_missing, star_str(s, name));
}

struct star_value
build_name(struct star *s, const struct star_module *m, const char *name)
{
	struct star_value *known = star_field(s, &s->universe, name);

	(void)m;
	if (known != NULL)
		return *known;
	return build_native_is(name) ? star_host(s, "rule", rule_native,
	    star_str(s, name)) : star_unknown();
}

/* ---- what else is called ---- */

static struct star_value
rule_nothing(struct star *s, const struct star_call *c)
{
	(void)s;
	(void)c;
	return star_none();
}

static struct star_value
rule_package_name(struct star *s, const struct star_call *c)
{
	const struct build *b = s->owner;

	(void)c;
	return b->now != NULL ? star_str(s, b->now->place.package)
			      : star_unknown();
}

static struct star_value
rule_repository_name(struct star *s, const struct star_call *c)
{
	const struct build *b = s->owner;

	(void)c;
	if (b->now == NULL)
		return star_unknown();
	return star_str(s, *b->now->place.repo == '\0' ? "@"
	    : build_join(s, "@", b->now->place.repo));
}

static struct star_value
rule_label(struct star *s, const struct star_call *c)
{
	const char *text = star_cstr(star_arg(s, c, 0, "input"));
	struct build_label label;

	if (text == NULL || !build_label_read(s->owner, c->module->owner,
	        text, &label))
		return star_say(s, c->module, c->line, "this is no label");
	return build_label_text(s, &label);
}

static struct star_value
rule_rule(struct star *s, const struct star_call *c)
{
	static const char *const kept[] = {"attrs", "outputs", "test"};
	struct star_value own = star_dict(s, STAR_STRUCT), *given;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		given = star_arg(s, c, 9, kept[i]);
		star_set(s, own.dict, star_str(s, kept[i]), given != NULL
		    ? *given : star_none());
	}
	given = star_field(s, own.dict, "attrs");
	if (given->kind != STAR_DICT)
		*given = star_dict(s, STAR_DICT);
	return star_host(s, "rule", rule_own, own);
}

/* attr.label_list() and so on: its kind, and what it is built for. */
static struct star_value
rule_attr(struct star *s, const struct star_call *c)
{
	struct star_value out = star_dict(s, STAR_STRUCT),
	    *cfg = star_field(s, &c->named, "cfg");

	star_set(s, out.dict, star_str(s, "kind"),
	    star_str(s, c->host->name));
	if (cfg != NULL)
		star_set(s, out.dict, star_str(s, "cfg"), *cfg);
	return out;
}

static const struct {
	const char *name;
	star_fn *fn;
} functions[] = {
    {"glob", build_glob}, {"package", build_package_says},
    {"licenses", rule_nothing}, {"exports_files", build_exports},
    {"package_name", rule_package_name},
    {"repository_name", rule_repository_name}, {"Label", rule_label},
    {"rule", rule_rule}, {"repository_rule", rule_nothing},
    {"distribs", rule_nothing}, {"configuration_field", rule_nothing},
    {"transition", rule_nothing},
};

/* config.string(flag = True) */
static const char *const setting_kinds[] = {"bool", "int", "string",
    "string_list"};

static const char *const attr_kinds[] = {"bool", "int", "int_list", "label",
    "label_keyed_string_dict", "label_list", "output", "output_list",
    "string", "string_dict", "string_list", "string_list_dict",
    "string_keyed_label_dict"};

/* A word with functions as its fields. */
static void
rules_words(struct star *s, const char *name, star_fn *fn,
    const char *const *fields, size_t n)
{
	struct star_value word = star_dict(s, STAR_STRUCT);

	for (size_t i = 0; i < n; i++)
		star_set(s, word.dict, star_str(s, fields[i]),
		    star_host(s, fields[i], fn, star_none()));
	star_set(s, &s->universe, star_str(s, name), word);
}

void
build_rules(struct build *b)
{
	struct star *s = &b->star;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		star_set(s, &s->universe, star_str(s, functions[i].name),
		    star_host(s, functions[i].name, functions[i].fn,
		    star_none()));
	rules_words(s, "attr", rule_attr, attr_kinds,
	    sizeof(attr_kinds) / sizeof(*attr_kinds));
	rules_words(s, "config", rule_nothing, setting_kinds,
	    sizeof(setting_kinds) / sizeof(*setting_kinds));
}
