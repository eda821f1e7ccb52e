/*
 * Who may see a target: the package_group()s that say so are needed, as bazel
 * has it.  A rule needs those that it names itself; a file that it makes also
 * those of package(default_visibility), and so does a file that nobody
 * declares.
 */
#include <string.h>

#include "fcgi/graph/read/build_private.h"

/* "//visibility:public", "//a:__pkg__": a word that is no target. */
static bool
visible_is_word(const struct build_label *l)
{
	return strcmp(l->package, "visibility") == 0 ||
	    strcmp(l->name, "__pkg__") == 0 ||
	    strcmp(l->name, "__subpackages__") == 0;
}

void
build_visible_to(struct star *s, const struct star_call *c,
    const struct star_value *groups, struct star_dict *needs)
{
	struct build *b = s->owner;
	struct build_label label;
	const char *text;

	if (groups == NULL || groups->kind == STAR_NONE)
		return;
	if (groups->kind != STAR_LIST && groups->kind != STAR_TUPLE) {
		star_say(s, c->module, c->line, "who sees it is not known");
		return;
	}
	for (size_t i = 0; i < groups->list->n; i++) {
		text = star_cstr(&groups->list->items[i]);
		if (text == NULL || !build_label_read(b, &b->now->place, text,
		        &label))
			star_say(s, c->module, c->line,
			    "who sees it is not known");
		else if (!visible_is_word(&label))
			star_set(s, needs, build_label_text(s, &label),
			    star_list(s, STAR_LIST));
	}
}

struct star_value
build_package_says(struct star *s, const struct star_call *c)
{
	struct build *b = s->owner;

	if (b->now != NULL)
		build_visible_to(s, c, star_field(s, &c->named,
		    "default_visibility"), &b->now->visible);
	return star_none();
}

/* Files that are there without a rule, which everyone sees if nobody is
 * named. */
struct star_value
build_exports(struct star *s, const struct star_call *c)
{
	struct star_value *v = star_arg(s, c, 0, "srcs"), target;
	struct build *b = s->owner;

	for (size_t i = 0; b->now != NULL && v != NULL &&
	     (v->kind == STAR_LIST || v->kind == STAR_TUPLE) &&
	     i < v->list->n; i++) {
		if (v->list->items[i].kind != STAR_TEXT ||
		    star_get(s, &b->now->targets, v->list->items[i]) != NULL)
			continue;
		target = star_dict(s, STAR_DICT);
		build_visible_to(s, c, star_arg(s, c, 1, "visibility"),
		    target.dict);
		star_set(s, &b->now->targets, v->list->items[i], target);
	}
	return star_none();
}

void
build_visible_made(struct star *s, const struct star_call *c,
    struct star_value name, struct star_dict *needs)
{
	struct build_package *now = ((struct build *)s->owner)->now;
	const struct star_value *own = star_field(s, &c->named, "visibility");

	if (own != NULL && own->kind != STAR_NONE)
		build_visible_to(s, c, own, needs);
	else
		star_add(s, &now->made, name);
}

void
build_visible_end(struct star *s, struct build_package *p)
{
	struct star_value *target;

	for (size_t i = 0; i < p->made.n; i++) {
		target = star_get(s, &p->targets, p->made.items[i]);
		for (size_t k = 0; target != NULL && k < p->visible.n; k++)
			star_set(s, target->dict, p->visible.pairs[k].key,
			    p->visible.pairs[k].value);
	}
}
