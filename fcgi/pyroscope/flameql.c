/*
 * Matchers are copied one by one, with the names and anchors that ours have.
 */
#include "fcgi/pyroscope/flameql.h"

#include <stdio.h>
#include <string.h>

#include "fcgi/pyroscope/appname.h"
#include "fcgi/query/measure.h"
#include "store/base/err.h"
#include "store/model/typeid.h"
#include "store/model/types.h"
#include "store/model/unit.h"
#include "store/store.h"

struct matcher {
	char label[256];
	char op[3];
	const char *value; /* in its quotes' place, as it stands */
	size_t n;
	char quote;
};

static const struct err *
flameql_bad(const char *text, const char *at, const char *why)
{
	return err_field(ERR_REQUEST, 400, "query", "%s at byte %zu of "
	    "\"%.200s\"", why, (size_t)(at - text), text);
}

const char *
flameql_label(const char *name)
{
	return strcmp(name, "service_name") == 0 ? "service" : name;
}

static const char *
flameql_blank(const char *p)
{
	return p + strspn(p, " \t\n,");
}

/* One matcher from *p on; false at the end of the braces. */
static const struct err *
flameql_next(const char *text, const char **p, struct matcher *m, bool *more)
{
	const char *at = flameql_blank(*p), *end;
	size_t n;

	*more = *at != '}' && *at != '\0';
	*p = at;
	if (!*more)
		return *at == '}' ? NULL
				  : flameql_bad(text, at, "expected }");
	if (*at == '"') {
		end = strchr(++at, '"');
		n = end != NULL ? (size_t)(end - at) : 0;
	} else {
		n = strcspn(at, "=! \t");
		end = at + n;
	}
	if (n == 0 || n >= sizeof(m->label))
		return flameql_bad(text, at, "expected a label");
	snprintf(m->label, sizeof(m->label), "%.*s", (int)n, at);
	at = end + (*end == '"');
	at += strspn(at, " \t");
	n = strspn(at, "=!~");
	if (n == 0 || n > 2)
		return flameql_bad(text, at, "expected =, !=, =~ or !~");
	snprintf(m->op, sizeof(m->op), "%.*s", (int)n, at);
	at += n;
	at += strspn(at, " \t");
	if (*at != '"' && *at != '\'')
		return flameql_bad(text, at, "expected a quoted value");
	m->quote = *at;
	m->value = ++at;
	while (*at != m->quote && *at != '\0')
		at += *at == '\\' && at[1] != '\0' ? 2 : 1;
	if (*at == '\0')
		return flameql_bad(text, at, "unfinished value");
	m->n = (size_t)(at - m->value);
	*p = at + 1;
	return NULL;
}

static void flameql_put_equal(struct flameql *q, const char *label,
    const char *value);

/* Grafana asks for a type by its id, as if it were a label. */
static const struct err *
flameql_put_type(struct flameql *q, const struct matcher *m)
{
	char text[TYPEID_MAX], name[128];
	const struct err *e;
	struct typeid id;

	if (strcmp(m->op, "=") != 0)
		return err_field(ERR_REQUEST, 400, "query",
		    "__profile_type__ is known with = alone, not %s", m->op);
	snprintf(text, sizeof(text), "%.*s",
	    (int)(m->n < sizeof(text) ? m->n : sizeof(text) - 1), m->value);
	if ((e = typeid_parse(&id, text)) != NULL)
		return e;
	typeid_name(id.group, id.type, id.unit, name, sizeof(name));
	flameql_put_equal(q, "__name__", name);
	return NULL;
}

static void
flameql_put(struct flameql *q, const struct matcher *m, bool anchored)
{
	bool wrap = !anchored && m->op[1] == '~';

	buf_printf(&q->text, "%s\"%s\"%s%c", q->text.len > 0 &&
	    q->text.data[q->text.len - 1] != '{' ? "," : "",
	    flameql_label(m->label), m->op, m->quote);
	buf_printf(&q->text, "%s", wrap ? ".*(?:" : "");
	buf_put(&q->text, m->value, m->n);
	buf_printf(&q->text, "%s%c", wrap ? ").*" : "", m->quote);
}

static void
flameql_put_equal(struct flameql *q, const char *label, const char *value)
{
	buf_printf(&q->text, "%s\"%s\"=\"", q->text.len > 0 &&
	    q->text.data[q->text.len - 1] != '{' ? "," : "", label);
	measure_put_quoted(&q->text, value);
	buf_put_u8(&q->text, '"');
}

/* Copies the matchers of "{...}". */
static const struct err *
flameql_copy(struct flameql *q, const char *text, const char *braces,
    bool anchored)
{
	const char *p = braces + (*braces == '{');
	const struct err *e = NULL;
	struct matcher m;
	bool more = *braces == '{';

	while (e == NULL && more &&
	    (e = flameql_next(text, &p, &m, &more)) == NULL && more) {
		if (strcmp(m.label, "__profile_type__") == 0)
			e = flameql_put_type(q, &m);
		else
			flameql_put(q, &m, anchored);
	}
	if (e == NULL && *p == '}' && p[1 + strspn(p + 1, " \t\n")] != '\0')
		e = flameql_bad(text, p + 1, "unexpected text");
	return e;
}

static const struct err *
flameql_close(struct flameql *q)
{
	const char *service;
	const struct err *e;

	if (q->text.data[q->text.len - 1] == '{' && q->type[0] == '\0')
		buf_printf(&q->text, "\"service\"=~\".*\"");
	buf_put(&q->text, "}", 2); /* and the NUL */
	if (q->text.failed)
		return err_nomem();
	e = selector_parse((const char *)q->text.data, &q->selector);
	if (e == NULL && q->service[0] == '\0' &&
	    (service = selector_equals(q->selector, "service")) != NULL)
		snprintf(q->service, sizeof(q->service), "%s", service);
	return e;
}

static bool
flameql_seen(void *arg, const struct series_desc *d, int64_t last_ns)
{
	bool *seen = arg;

	(void)last_ns;
	*seen |= series_is_profile(d->kind);
	return !*seen;
}

/* Does the store know a type of a service? */
static bool
flameql_known(struct store *s, const char *type, const char *service)
{
	struct flameql probe = {0};
	struct store_extent extent;
	bool seen = false;

	snprintf(probe.type, sizeof(probe.type), "%s", type);
	buf_printf(&probe.text, "{");
	flameql_put_equal(&probe, "__name__", type);
	flameql_put_equal(&probe, "service", service);
	store_extent(s, &extent);
	store_missing_watch(s, false);
	if (flameql_close(&probe) == NULL)
		store_each_series(s, probe.selector, extent.from_ns,
		    extent.until_ns, flameql_seen, &seen);
	store_missing_watch(s, true);
	flameql_free(&probe);
	return seen;
}

/* "my.app.cpu": service and type. */
static void
flameql_split(struct flameql *q, struct store *s, const char *name)
{
	const struct type *known = appname_suffix(name);
	const char *dot = strrchr(name, '.');
	char service[256], type[128];

	snprintf(q->service, sizeof(q->service), "%s", name);
	snprintf(q->type, sizeof(q->type), "%s",
	    types_of_units("samples")->name);
	if (dot == NULL || dot == name)
		return;
	snprintf(service, sizeof(service), "%.*s", (int)(dot - name), name);
	snprintf(type, sizeof(type), "%s", dot + 1);
	if (known != NULL || flameql_known(s, type, service)) {
		strcpy(q->service, service);
		strcpy(q->type, type);
	}
}

static bool
flameql_names_service(const char *text, const char *braces)
{
	const char *p = braces + (*braces == '{');
	struct matcher m;
	bool more = *braces == '{';

	while (more && flameql_next(text, &p, &m, &more) == NULL && more)
		if (strcmp(flameql_label(m.label), "service") == 0)
			return true;
	return false;
}

static void
flameql_open(struct flameql *q)
{
	buf_printf(&q->text, "{");
	if (q->type[0] != '\0')
		flameql_put_equal(q, "__name__", q->type);
}

/* One name may be of several units where nothing says what it is in. */
static void
flameql_put_unit(struct flameql *q)
{
	int64_t scale;
	const char *unit = unit_canonical(q->unit, &scale);

	if (types_find(q->type) != NULL || scale != 1 || *q->unit == '\0' ||
	    strlen(q->unit) >= TYPEID_UNIT_MAX)
		return;
	if (unit_same(unit, "count"))
		buf_printf(&q->text, ",\"__unit__\"=~\"count|samples\"");
	else
		flameql_put_equal(q, "__unit__", unit);
}

const struct err *
flameql_parse_id(struct flameql *q, const char *id, const char *matchers)
{
	const struct err *e;
	struct typeid t;

	*q = (struct flameql){0};
	if (*id != '\0') {
		if ((e = typeid_parse(&t, id)) != NULL)
			return e;
		typeid_name(t.group, t.type, t.unit, q->type,
		    sizeof(q->type));
		snprintf(q->unit, sizeof(q->unit), "%.60s", t.unit);
	}
	flameql_open(q);
	flameql_put_unit(q);
	matchers += strspn(matchers, " \t\n");
	if (*matchers != '\0' && *matchers != '{')
		return flameql_bad(matchers, matchers, "expected {");
	if ((e = flameql_copy(q, matchers, matchers, true)) != NULL)
		return e;
	return flameql_close(q);
}

const struct err *
flameql_check_unit(const struct flameql *q, const char *unit)
{
	int64_t scale;

	unit_canonical(q->unit, &scale);
	if (q->unit[0] == '\0' || unit[0] == '\0' ||
	    (scale == 1 && unit_same(q->unit, unit)))
		return NULL;
	return err_field(ERR_REQUEST, 400, "profile_typeID",
	    "%s is in %s, not in %s", q->type, typeid_unit(unit), q->unit);
}

const struct err *
flameql_parse(struct flameql *q, struct store *s, const char *text)
{
	size_t n = strcspn(text, "{");
	const char *braces = text + n;
	const struct err *e;
	bool ours = flameql_names_service(text, braces);
	char head[400];

	*q = (struct flameql){0};
	text += strspn(text, " \t\n");
	n = (size_t)(braces - text);
	while (n > 0 && strchr(" \t\n", text[n - 1]) != NULL)
		n--;
	if (n >= sizeof(head))
		return flameql_bad(text, text, "too long a name");
	snprintf(head, sizeof(head), "%.*s", (int)n, text);
	if (strchr(head, ':') != NULL)
		return flameql_parse_id(q, head, braces);
	if (n == 0 && !ours)
		return flameql_bad(text, text, "expected an application");
	if (ours)
		snprintf(q->type, sizeof(q->type), "%.120s", head);
	else
		flameql_split(q, s, head);
	flameql_open(q);
	if (!ours)
		flameql_put_equal(q, "service", q->service);
	if ((e = flameql_copy(q, text, braces, ours)) != NULL)
		return e;
	return flameql_close(q);
}

const struct err *
flameql_parse_name(struct flameql *q, struct store *s, const char *name)
{
	struct appname a;
	const struct err *e = appname_parse(&a, name);

	*q = (struct flameql){0};
	if (e == NULL) {
		flameql_split(q, s, a.service);
		flameql_open(q);
		flameql_put_equal(q, "service", q->service);
		for (size_t i = 0; i < a.n_labels; i++)
			flameql_put_equal(q, a.labels[i].name,
			    a.labels[i].value);
		e = flameql_close(q);
	}
	appname_free(&a);
	return e;
}

void
flameql_free(struct flameql *q)
{
	selector_free(q->selector);
	buf_fini(&q->text);
	q->selector = NULL;
}
