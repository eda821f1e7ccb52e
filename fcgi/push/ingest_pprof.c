/*
 * Forms, sample_type_config, and what lies between two cumulative profiles.
 */
#include "fcgi/push/ingest_pprof.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/stacks_less.h"
#include "fcgi/push/ingest.h"
#include "fcgi/push/multipart.h"
#include "store/base/err.h"
#include "store/model/type.h"

#define CONFIGS_MAX STACKS_TYPES_MAX

struct form {
	const char *profile, *previous, *config; /* NULL: not there */
	size_t n_profile, n_previous, n_config;
	struct pprof_config configs[CONFIGS_MAX];
	size_t n_configs;
};

const struct err *
ingest_pprof_raw(struct stacks *s, const void *data, size_t n, bool files)
{
	struct pprof_options o = {.max_bytes = INGEST_PPROF_MAX,
	    .file_names = files};

	return pprof_parse_as(s, data, n, &o);
}

/* ---- the form ---- */

static const struct err *
form_read(struct form *f, const char *content_type, const void *body,
    size_t n)
{
	struct multipart m;
	struct multipart_part part;
	const struct err *e;
	bool more;

	if ((e = multipart_begin(&m, content_type, body, n)) != NULL)
		return e;
	while ((e = multipart_next(&m, &part, &more)) == NULL && more) {
		if (strcmp(part.name, "profile") == 0) {
			f->profile = part.data;
			f->n_profile = part.n;
		} else if (strcmp(part.name, "prev_profile") == 0) {
			f->previous = part.data;
			f->n_previous = part.n;
		} else if (strcmp(part.name, "sample_type_config") == 0) {
			f->config = part.data;
			f->n_config = part.n;
		}
	}
	if (e == NULL && f->profile == NULL)
		e = err_new(ERR_REQUEST, 400,
		    "multipart/form-data: no field \"profile\"");
	return e;
}

static void
config_text(struct json_object *o, const char *key, char *to, size_t size)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) &&
	    json_object_is_type(v, json_type_string))
		snprintf(to, size, "%s", json_object_get_string(v));
}

static void
config_take(struct pprof_config *c, const char *type, struct json_object *o)
{
	struct json_object *v;
	char how[16] = "";

	*c = (struct pprof_config){.average = -1};
	snprintf(c->type, sizeof(c->type), "%s", type);
	config_text(o, "display-name", c->display, sizeof(c->display));
	config_text(o, "units", c->units, sizeof(c->units));
	config_text(o, "aggregation", how, sizeof(how));
	if (how[0] != '\0')
		c->average = strncmp(how, "av", 2) == 0;
	c->cumulative = json_object_object_get_ex(o, "cumulative", &v) &&
	    json_object_get_boolean(v);
}

static const struct err *
form_configure(struct form *f)
{
	struct json_tokener *t;
	struct json_object *all;

	if (f->config == NULL || f->n_config == 0)
		return NULL;
	if (f->n_config > 1u << 20)
		return err_new(ERR_REQUEST, 413, "sample_type_config is large");
	if ((t = json_tokener_new_ex(8)) == NULL)
		return err_nomem();
	all = json_tokener_parse_ex(t, f->config, (int)f->n_config);
	json_tokener_free(t);
	if (!json_object_is_type(all, json_type_object)) {
		json_object_put(all);
		return err_new(ERR_REQUEST, 422,
		    "sample_type_config is not a JSON object");
	}
	json_object_object_foreach(all, type, value) {
		if (json_object_is_type(value, json_type_object) &&
		    f->n_configs < CONFIGS_MAX)
			config_take(&f->configs[f->n_configs++], type, value);
	}
	json_object_put(all);
	return NULL;
}

/* ---- the difference ---- */

static enum stacks_take
form_take(void *arg, const struct stacks_type *t)
{
	const struct form *f = arg;

	for (size_t i = 0; i < f->n_configs; i++) {
		const struct pprof_config *c = &f->configs[i];
		char shown[128];

		type_sanitize(shown, sizeof(shown),
		    c->display[0] != '\0' ? c->display : c->type);
		if (c->cumulative && strcmp(shown, t->name) == 0)
			return STACKS_LESS;
	}
	return STACKS_ALL;
}

/* *s becomes what lies between two profiles. */
static const struct err *
form_difference(struct form *f, struct stacks **s,
    const struct stacks *before)
{
	struct stacks *out;
	const struct err *e = stacks_less(&out, *s, before, form_take, f,
	    NULL);

	if (e == NULL) {
		stacks_set_mean(out, stacks_mean(*s));
		stacks_free(*s);
		*s = out;
	}
	return e;
}

const struct err *
ingest_pprof_form(struct stacks **s, const char *content_type,
    const void *body, size_t n, bool files)
{
	struct form *f = calloc(1, sizeof(*f));
	struct pprof_options o = {.max_bytes = INGEST_PPROF_MAX,
	    .file_names = files};
	struct stacks *before = NULL;
	const struct err *e;
	bool cumulative = false;

	if (f == NULL)
		return err_nomem();
	if ((e = form_read(f, content_type, body, n)) == NULL &&
	    (e = form_configure(f)) == NULL) {
		o.configs = f->configs;
		o.n_configs = f->n_configs;
		e = pprof_parse_as(*s, f->profile, f->n_profile, &o);
	}
	for (size_t i = 0; i < f->n_configs; i++)
		cumulative |= f->configs[i].cumulative;
	if (e == NULL && cumulative && f->previous != NULL) {
		before = stacks_new(&stacks_limits_push);
		e = before == NULL ? err_nomem() : pprof_parse_as(before,
		    f->previous, f->n_previous, &o);
	}
	if (e == NULL && cumulative)
		e = form_difference(f, s, before);
	stacks_free(before);
	free(f);
	return e;
}
