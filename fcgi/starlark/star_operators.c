/*
 * Operators of two values.
 */
#include <string.h>

#include "fcgi/starlark/star_private.h"

static void
operator_add_all(struct star *s, struct star_list *to, struct star_value v)
{
	if (v.kind != STAR_SUM) {
		star_add(s, to, v);
		return;
	}
	for (size_t i = 0; i < v.list->n; i++)
		star_add(s, to, v.list->items[i]);
}

static struct star_value
operator_plus(struct star *s, struct star_value a, struct star_value b)
{
	size_t at = s->scratch.len;
	struct star_value out;

	if (a.kind == STAR_CHOICE || a.kind == STAR_SUM ||
	    b.kind == STAR_CHOICE || b.kind == STAR_SUM) {
		out = star_list(s, STAR_SUM);
		operator_add_all(s, out.list, a);
		operator_add_all(s, out.list, b);
		return out;
	}
	if (a.kind != b.kind)
		return star_none();
	if (a.kind == STAR_TEXT) {
		buf_put(&s->scratch, a.text->p, a.text->n);
		buf_put(&s->scratch, b.text->p, b.text->n);
		return star_taken(s, at);
	}
	if (a.kind != STAR_LIST && a.kind != STAR_TUPLE)
		return star_none();
	out = star_list(s, a.kind);
	for (size_t i = 0; i < a.list->n; i++)
		star_add(s, out.list, a.list->items[i]);
	for (size_t i = 0; i < b.list->n; i++)
		star_add(s, out.list, b.list->items[i]);
	return out;
}

/* A text or a list n times. */
static struct star_value
operator_repeat(struct star *s, struct star_value a, struct star_value n)
{
	struct star_value out;
	size_t at = s->scratch.len;

	if (a.kind == STAR_TEXT) {
		for (int64_t i = 0; i < n.i; i++) {
			star_step(s, 1 + a.text->n);
			buf_put(&s->scratch, a.text->p, a.text->n);
		}
		return star_taken(s, at);
	}
	out = star_list(s, a.kind);
	for (int64_t i = 0; i < n.i; i++) {
		star_step(s, 1);
		for (size_t k = 0; k < a.list->n; k++)
			star_add(s, out.list, a.list->items[k]);
	}
	return out;
}

static struct star_value
operator_numbers(int sign, int64_t a, int64_t b)
{
	int64_t out = 0;
	bool over = false;

	switch (sign) {
	case '+':
		over = __builtin_add_overflow(a, b, &out);
		break;
	case '-':
		over = __builtin_sub_overflow(a, b, &out);
		break;
	case '*':
		over = __builtin_mul_overflow(a, b, &out);
		break;
	case SIGN_DIVIDE:
	case '%':
		if (b == 0 || b == -1)
			return b == 0 ? star_unknown() : sign == '%'
			    ? star_int(0) : operator_numbers('-', 0, a);
		out = a / b - (a % b != 0 && (a < 0) != (b < 0));
		if (sign == '%')
			out = a - out * b;
		break;
	case '|':
		out = a | b;
		break;
	case '&':
		out = a & b;
		break;
	case '^':
		out = a ^ b;
		break;
	case SIGN_LEFT:
		over = b < 0 || b > 62 || a < 0 || a > INT64_MAX >> b;
		out = over ? 0 : a << b;
		break;
	case SIGN_RIGHT:
		over = b < 0 || b > 62;
		out = over ? 0 : a >> b;
		break;
	default:
		return star_none();
	}
	return over ? star_unknown() : star_int(out);
}

static struct star_value
operator_in(struct star *s, struct star_value a, struct star_value b)
{
	struct star_list items;

	if (b.kind == STAR_TEXT && a.kind == STAR_TEXT)
		return star_bool(strstr(b.text->p, a.text->p) != NULL);
	if (!star_items(s, b, &items))
		return star_none();
	for (size_t i = 0; i < items.n; i++)
		if (star_is_equal(s, items.items[i], a))
			return star_bool(true);
	return star_bool(false);
}

static struct star_value
operator_union(struct star *s, struct star_value a, struct star_value b)
{
	struct star_value out = star_dict(s, STAR_DICT);

	for (size_t i = 0; i < a.dict->n; i++)
		star_set(s, out.dict, a.dict->pairs[i].key,
		    a.dict->pairs[i].value);
	for (size_t i = 0; i < b.dict->n; i++)
		star_set(s, out.dict, b.dict->pairs[i].key,
		    b.dict->pairs[i].value);
	return out;
}

/* NONE: these two have no such operator. */
static struct star_value
operator_binary(struct star *s, int sign, struct star_value a,
    struct star_value b)
{
	switch (sign) {
	case SIGN_EQUAL:
		return star_bool(star_is_equal(s, a, b));
	case SIGN_UNEQUAL:
		return star_bool(!star_is_equal(s, a, b));
	case '<':
		return star_bool(star_order(a, b) < 0);
	case '>':
		return star_bool(star_order(a, b) > 0);
	case SIGN_LESS:
		return star_bool(star_order(a, b) <= 0);
	case SIGN_MORE:
		return star_bool(star_order(a, b) >= 0);
	case SIGN_IN:
		return operator_in(s, a, b);
	case SIGN_NOT_IN:
		a = operator_in(s, a, b);
		return a.kind == STAR_BOOL ? star_bool(!a.i) : a;
	default:
		break;
	}
	if (a.kind == STAR_INT && b.kind == STAR_INT)
		return operator_numbers(sign, a.i, b.i);
	if (sign == '+')
		return operator_plus(s, a, b);
	if (sign == '%' && a.kind == STAR_TEXT)
		return star_percent(s, a, b);
	if (sign == '*' && b.kind == STAR_INT && (a.kind == STAR_TEXT ||
	        a.kind == STAR_LIST || a.kind == STAR_TUPLE))
		return operator_repeat(s, a, b);
	if (sign == '|' && a.kind == STAR_DICT && b.kind == STAR_DICT)
		return operator_union(s, a, b);
	return star_none();
}

struct star_value
star_binary(struct star *s, const struct star_module *m, int line, int sign,
    struct star_value a, struct star_value b)
{
	struct star_value v;

	if (a.kind == STAR_UNKNOWN || b.kind == STAR_UNKNOWN) {
		/* what is known of a sum is kept */
		if (sign == '+' && (a.kind == STAR_LIST ||
		        b.kind == STAR_LIST || a.kind == STAR_SUM ||
		        b.kind == STAR_SUM || a.kind == STAR_CHOICE ||
		        b.kind == STAR_CHOICE))
			return a.kind == STAR_UNKNOWN ? b : a;
		return star_unknown();
	}
	v = operator_binary(s, sign, a, b);
	return v.kind != STAR_NONE && v.kind != STAR_UNKNOWN ? v
	    : star_say(s, m, line, "these two have no such operator");
}
