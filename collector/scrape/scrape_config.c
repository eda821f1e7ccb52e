/*
 * One table of keys; targets are checked when all are read, since two of them
 * may name one series.
 */
#include "collector/scrape/scrape_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/http/http.h"
#include "store/base/err.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define SCRAPE_NAME_MAX 63 /* bytes of a service's or an instance's */
#define AT(field) offsetof(struct scrape_config, field)

const char *const scrape_page_kinds[SCRAPE_PAGES] = {"leveldb", "prometheus"};

static const struct conf_key scrape_keys[] = {
    {"scrape", "socket", CONF_STRING, AT(socket_path),
        "/run/memlens/memlensd.sock", 0, 0, "memlensd's socket"},
    {"scrape", "interval", CONF_DURATION, AT(interval_ns), "1s", 100 * MS,
        3600 * S, "time between two pulls of a target"},
    {"scrape", "deadline", CONF_DURATION, AT(deadline_ns), "2s", 100 * MS,
        60 * S, "time that a request may take"},
    {"scrape", "slot", CONF_DURATION, AT(slot_ns), "10s", 10 * MS, 3600 * S,
        "length of a slot: the store's"},
    {"scrape", "ca", CONF_STRING, AT(ca), NULL, 0, 0,
        "certificates by which https is trusted, else the system's"},
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

static const struct err *
scrape_set_page(struct http_place **page, const char *key, const char *value)
{
	struct http_place place;
	const struct err *e = http_place_parse(&place, value, true);

	if (e != NULL)
		return err_wrap(e, "%s", key);
	if (*page == NULL && (*page = malloc(sizeof(**page))) == NULL)
		return err_nomem();
	**page = place;
	return NULL;
}

static const struct err *
scrape_set_name(char **name, const char *key, const char *value)
{
	if (value[0] == '\0' || strlen(value) > SCRAPE_NAME_MAX)
		return err_new(ERR_CONFIG, 0, "%s: a name has 1 to %d bytes",
		    key, SCRAPE_NAME_MAX);
	free(*name);
	*name = strdup(value);
	return *name == NULL ? err_nomem() : NULL;
}

static const struct err *
scrape_set_target(void *values, const char *name, const char *key,
    const char *value, int line)
{
	struct scrape_target_config *t = scrape_target_get(values, name);

	if (t == NULL)
		return err_new(ERR_CONFIG, 0, "more than %d targets",
		    SCRAPE_TARGETS_MAX);
	t->line = line;
	if (strcmp(key, "service") == 0)
		return scrape_set_name(&t->service, key, value);
	if (strcmp(key, "instance") == 0)
		return scrape_set_name(&t->instance, key, value);
	for (int i = 0; i < SCRAPE_PAGES; i++)
		if (strcmp(key, scrape_page_kinds[i]) == 0)
			return scrape_set_page(&t->pages[i], key, value);
	return err_new(ERR_CONFIG, 0, "unknown key \"%s\" in [target %s]", key,
	    name);
}

static const char *
scrape_service(const struct scrape_target_config *t)
{
	return t->service != NULL ? t->service : t->name;
}

/* By the first page where it has no name; false when out of memory. */
static bool
scrape_name_instance(struct scrape_target_config *t)
{
	const char *name = t->pages[0] ? t->pages[0]->name
	    : t->pages[1] ? t->pages[1]->name : t->name;

	if (t->instance == NULL)
		t->instance = strndup(name, SCRAPE_NAME_MAX);
	return t->instance != NULL;
}

/* Names the instances, and refuses two that would be one series. */
static const struct err *
scrape_check_targets(void *values, int *line)
{
	struct scrape_config *c = values;

	for (size_t i = 0; i < c->n_targets; i++) {
		struct scrape_target_config *t = &c->targets[i];

		*line = t->line;
		if (!scrape_name_instance(t))
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
		for (int k = 0; k < SCRAPE_PAGES; k++)
			free(c->targets[i].pages[k]);
	}
	c->n_targets = 0;
}
