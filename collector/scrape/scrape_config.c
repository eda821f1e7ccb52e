/*
 * One table of keys; targets are checked when all are read, since two of them
 * may name one series.
 */
#include "collector/scrape/scrape_config.h"

#include "collector/scrape/scrape_http.h"

#include "store/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define AT(field) offsetof(struct scrape_config, field)

static const struct conf_key scrape_keys[] = {
    {"scrape", "socket", CONF_STRING, AT(socket_path),
        "/run/memlens/memlensd.sock", 0, 0, "memlensd's socket"},
    {"scrape", "interval", CONF_DURATION, AT(interval_ns), "1s", 100 * MS,
        3600 * S, "time between two pulls of a target"},
    {"scrape", "deadline", CONF_DURATION, AT(deadline_ns), "2s", 100 * MS,
        60 * S, "time that a request may take"},
    {"scrape", "slot", CONF_DURATION, AT(slot_ns), "10s", 10 * MS, 3600 * S,
        "length of a slot: the store's"},
    {"scrape", "max-samples", CONF_INT, AT(max_samples), "2000", 1, 20000,
        "values that are taken of one page"},
};

static struct scrape_target_config *
scrape_target_get(struct scrape_config *c, const char *name)
{
	struct scrape_target_config *t;

	for (size_t i = 0; i < c->n_targets; i++) {
		if (strcmp(c->targets[i].name, name) == 0)
			return &c->targets[i];
	}
	if (c->n_targets == SCRAPE_TARGETS_MAX)
		return NULL;
	t = &c->targets[c->n_targets];
	*t = (struct scrape_target_config){.name = strdup(name)};
	c->n_targets += t->name != NULL;
	return t->name == NULL ? NULL : t;
}

static char **
scrape_target_field(struct scrape_target_config *t, const char *key)
{
	if (strcmp(key, "service") == 0)
		return &t->service;
	if (strcmp(key, "instance") == 0)
		return &t->instance;
	if (strcmp(key, "leveldb") == 0)
		return &t->leveldb;
	return strcmp(key, "prometheus") == 0 ? &t->prometheus : NULL;
}

static const struct err *
scrape_set_target(void *values, const char *name, const char *key,
    const char *value, int line)
{
	struct scrape_target_config *t = scrape_target_get(values, name);
	const struct err *e;
	struct http_url url;
	char **field;
	bool is_name;

	if (t == NULL)
		return err_new(ERR_CONFIG, 0, "more than %d targets",
		    SCRAPE_TARGETS_MAX);
	t->line = line;
	if ((field = scrape_target_field(t, key)) == NULL)
		return err_new(ERR_CONFIG, 0,
		    "unknown key \"%s\" in [target %s]", key, name);
	is_name = field == &t->service || field == &t->instance;
	if (!is_name && (e = http_url_parse(value, &url)) != NULL)
		return err_wrap(e, "%s", key);
	if (is_name && (value[0] == '\0' || strlen(value) > 63))
		return err_new(ERR_CONFIG, 0,
		    "%s: a name has 1 to 63 bytes", key);
	free(*field);
	*field = strdup(value);
	return *field == NULL ? err_nomem() : NULL;
}

/* "host:port" of a URL, the port always. */
static char *
scrape_authority(const char *url)
{
	size_t n = strcspn(url += strlen("http://"), "/?#");
	const char *close = memchr(url, ']', n);
	const char *host_end = close != NULL ? close : url;
	bool port = memchr(host_end, ':', n - (size_t)(host_end - url)) != NULL;
	char *s;

	return asprintf(&s, "%.*s%s", (int)n, url, port ? "" : ":80") < 0 ?
	    NULL : s;
}

static const char *
scrape_service(const struct scrape_target_config *t)
{
	return t->service != NULL ? t->service : t->name;
}

/* Names the instances, and refuses two that would be one series. */
static const struct err *
scrape_check_targets(void *values, int *line)
{
	struct scrape_config *c = values;

	for (size_t i = 0; i < c->n_targets; i++) {
		struct scrape_target_config *t = &c->targets[i];
		const char *url = t->leveldb ? t->leveldb : t->prometheus;

		*line = t->line;
		if (t->instance == NULL && (t->instance = url != NULL ?
		    scrape_authority(url) : strdup(t->name)) == NULL)
			return err_nomem();
		for (size_t k = 0; k < i; k++) {
			const struct scrape_target_config *o = &c->targets[k];

			if (strcmp(o->instance, t->instance) == 0 &&
			    strcmp(scrape_service(o), scrape_service(t)) == 0)
				return err_new(ERR_CONFIG, 0, "[target %s] is "
				    "instance \"%s\" of service \"%s\", as "
				    "[target %s]: give one another instance",
				    t->name, t->instance, scrape_service(t),
				    o->name);
		}
	}
	return NULL;
}

const struct conf_spec scrape_config_spec = {scrape_keys,
    sizeof(scrape_keys) / sizeof(scrape_keys[0]), "target",
    scrape_set_target, scrape_check_targets};

const struct err *
scrape_config_load(struct scrape_config *c, const char *path)
{
	const struct err *e;

	memset(c, 0, sizeof(*c));
	e = conf_defaults(&scrape_config_spec, c);
	if (e == NULL)
		e = conf_load(&scrape_config_spec, path, c);
	if (e != NULL)
		scrape_config_free(c);
	return e;
}

void
scrape_config_free(struct scrape_config *c)
{
	conf_free_values(&scrape_config_spec, c);
	for (size_t i = 0; i < c->n_targets; i++) {
		free(c->targets[i].name);
		free(c->targets[i].service);
		free(c->targets[i].instance);
		free(c->targets[i].leveldb);
		free(c->targets[i].prometheus);
	}
	c->n_targets = 0;
}
