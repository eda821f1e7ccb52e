/*
 * The grammar of application names as a machine with three states.
 */
#include "fcgi/pyroscope/appname.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/types.h"

const struct type *
appname_suffix(const char *service)
{
	const char *dot = strrchr(service, '.');

	return dot != NULL && dot != service ? types_find(dot + 1) : NULL;
}

void
appname_cut(struct appname *a)
{
	char *dot = strrchr(a->service, '.');

	if (!a->cut && dot != NULL && dot != a->service)
		*dot = '\0';
	a->cut = true;
}

/* ---- the grammar ---- */

static char *
appname_trim(char *from, char *end)
{
	static const char blank[] = " \t\r\n";

	while (from < end && strchr(blank, *from) != NULL)
		from++;
	while (end > from && strchr(blank, end[-1]) != NULL)
		end--;
	*end = '\0';
	return from;
}

bool
appname_is_id(const char *name)
{
	static const char *const ids[] = {"__session_id__", "profile_id",
	    "span_id", "trace_id"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (strcmp(ids[i], name) == 0)
			return true;
	return false;
}

static const struct err *
appname_add(struct appname *a, const char *name, const char *value)
{
	size_t i = 0;

	if (*name == '\0' || appname_is_id(name)) {
		a->left_out++;
		return NULL;
	}
	while (i < a->n_labels && strcmp(a->labels[i].name, name) != 0)
		i++;
	if (i < a->n_labels && strcmp(a->labels[i].value, value) != 0)
		a->left_out++;
	if (i == APPNAME_LABELS_MAX)
		return err_field(ERR_REQUEST, 400, "name",
		    "more than %d labels", APPNAME_LABELS_MAX);
	a->labels[i] = (struct label){name, value};
	a->n_labels += i == a->n_labels;
	return NULL;
}

/* Is there more than blanks and commas? */
static bool
appname_says(const char *from, const char *end)
{
	return from + strspn(from, " \t\r\n,") < end;
}

/* A value without its ',' or '}' is one that ends with the text.  What is no
 * label, or stands behind the end, is left out. */
static const struct err *
appname_take_labels(struct appname *a, char *p)
{
	const struct err *e = NULL;
	char last = ',';

	while (last == ',' && e == NULL) {
		char *name = p, *equals = p + strcspn(p, "=}"), *value;

		p = equals + (*equals != '\0');
		if (*equals != '=') {
			a->left_out += appname_says(name, equals);
			break;
		}
		value = p;
		p += strcspn(p, ",}");
		last = *p;
		name = appname_trim(name, equals);
		value = appname_trim(value, p);
		e = appname_add(a, name, value);
		p += last != '\0';
	}
	a->left_out += appname_says(p, p + strlen(p));
	return e;
}

const struct err *
appname_parse(struct appname *a, const char *text)
{
	const struct err *e;
	char *brace;

	*a = (struct appname){.text = strdup(text)};
	if (a->text == NULL)
		return err_nomem();
	brace = a->text + strcspn(a->text, "{");
	e = *brace == '{' ? appname_take_labels(a, brace + 1) : NULL;
	a->service = appname_trim(a->text, brace);
	if (e == NULL && a->service[0] == '\0')
		e = err_field(ERR_REQUEST, 400, "name",
		    "has no application before its labels");
	return e;
}

void
appname_free(struct appname *a)
{
	free(a->text);
	a->text = a->service = NULL;
	a->n_labels = 0;
}
