/*
 * One table of keys; targets are checked when all are read, since two of them
 * may name one series.
 */
#include "collector/scrape/scrape_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pull/pull_signal.h"
#include "fcgi/http/http.h"
#include "store/base/err.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define SCRAPE_NAME_MAX 63 /* bytes of a service's or an instance's */
#define AT(field) offsetof(struct scrape_config, field)
#define PROFILE_INTERVAL 500 * MS, 86400 * S /* least and most */
#define PROFILE_TIMEOUT 100 * MS, 300 * S
#define PROFILE_BYTES 1024, 64 << 20

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
    {"scrape", "profile-interval", CONF_DURATION, AT(profile_interval_ns),
        "60s", PROFILE_INTERVAL, "time between two pulls of a profile"},
    {"scrape", "profile-timeout", CONF_DURATION, AT(profile_timeout_ns),
        "30s", PROFILE_TIMEOUT, "time that the request for one may take"},
    {"scrape", "profile-size", CONF_SIZE, AT(profile_bytes), "16M",
        PROFILE_BYTES, "bytes of one as it is sent"},
};

/* The same for one target. */
static const struct {
	const char *key;
	enum conf_type type;
	size_t offset;
	int64_t min, max;
} target_keys[] = {
    {"profile-interval", CONF_DURATION,
        offsetof(struct scrape_target_config, profile_interval_ns),
        PROFILE_INTERVAL},
    {"profile-timeout", CONF_DURATION,
        offsetof(struct scrape_target_config, profile_timeout_ns),
        PROFILE_TIMEOUT},
    {"profile-size", CONF_SIZE,
        offsetof(struct scrape_target_config, profile_bytes), PROFILE_BYTES},
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

/* The last part of the path, "heap" of /debug/pprof/heap?gc=1. */
static void
scrape_name_group(struct scrape_profile_config *p)
{
	const char *path = p->place->path;
	size_t n = strcspn(path, "?"), at = n;

	while (at > 0 && path[at - 1] != '/')
		at--;
	if (n - at < sizeof(p->group))
		snprintf(p->group, sizeof(p->group), "%.*s", (int)(n - at),
		    path + at);
}

static const struct err *
scrape_add_profile(struct scrape_target_config *t, const char *key,
    const char *value)
{
	struct scrape_profile_config *p = &t->profiles[t->n_profiles];
	bool dumps = strcmp(key, "dumps") == 0;
	const struct err *e = NULL;

	if (t->n_profiles == SCRAPE_PROFILES)
		return err_new(ERR_CONFIG, 0, "more than %d profiles of [target"
		    " %s]", SCRAPE_PROFILES, t->name);
	if (dumps && (value[0] != '/' || strlen(value) > 4000 ||
	    value[strlen(value) - 1] == '/'))
		return err_new(ERR_CONFIG, 0, "dumps: \"%s\" is not a folder "
		    "and the beginning of names in it", value);
	if (dumps && (p->dumps = strdup(value)) == NULL)
		return err_nomem();
	if (!dumps && (e = scrape_set_page(&p->place, key, value)) == NULL)
		scrape_name_group(p);
	t->n_profiles += e == NULL;
	return e;
}

/* *known: it is a key of a table, and set where there is no error. */
static const struct err *
scrape_set_number(struct scrape_target_config *t, const char *key,
    const char *value, bool *known)
{
	*known = false;
	for (size_t i = 0; i < sizeof(target_keys) / sizeof(target_keys[0]);
	    i++) {
		const struct err *e;
		int64_t v;

		if (strcmp(key, target_keys[i].key) != 0)
			continue;
		*known = true;
		if ((e = conf_parse(target_keys[i].type, value, &v)) != NULL)
			return err_wrap(e, "%s", key);
		if (v < target_keys[i].min || v > target_keys[i].max)
			return err_new(ERR_CONFIG, 0, "%s: %s is out of "
			    "range", key, value);
		memcpy((char *)t + target_keys[i].offset, &v, sizeof(v));
		return NULL;
	}
	return NULL;
}

static const struct err *
scrape_set_signal(struct scrape_target_config *t, const char *key,
    const char *value)
{
	t->dump_signal = pull_signal_parse(value);
	return t->dump_signal != 0 ? NULL : err_new(ERR_CONFIG, 0,
	    "%s: USR1 or USR2, not \"%s\"", key, value);
}

static const struct err *
scrape_set_pid_file(struct scrape_target_config *t, const char *key,
    const char *value)
{
	if (value[0] != '/')
		return err_new(ERR_CONFIG, 0, "%s: \"%s\" is no whole path",
		    key, value);
	free(t->pid_file);
	t->pid_file = strdup(value);
	return t->pid_file == NULL ? err_nomem() : NULL;
}

static const struct err *
scrape_set_target(void *values, const char *name, const char *key,
    const char *value, int line)
{
	struct scrape_target_config *t = scrape_target_get(values, name);
	const struct err *e;
	bool known;

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
	if (strcmp(key, "profile") == 0 || strcmp(key, "dumps") == 0)
		return scrape_add_profile(t, key, value);
	if (strcmp(key, "dump-signal") == 0)
		return scrape_set_signal(t, key, value);
	if (strcmp(key, "pid-file") == 0)
		return scrape_set_pid_file(t, key, value);
	e = scrape_set_number(t, key, value, &known);
	return known ? e : err_new(ERR_CONFIG, 0, "unknown key \"%s\" in "
	    "[target %s]", key, name);
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
	    : t->pages[1] ? t->pages[1]->name
	    : t->n_profiles > 0 && t->profiles[0].place
	    ? t->profiles[0].place->name : t->name;

	if (t->instance == NULL)
		t->instance = strndup(name, SCRAPE_NAME_MAX);
	return t->instance != NULL;
}

/* What Go's heap and allocs say is the same. */
static const struct err *
scrape_check_profiles(const struct scrape_target_config *t)
{
	unsigned heaps = 0, dumps = 0;

	for (size_t i = 0; i < t->n_profiles; i++)
		dumps += t->profiles[i].dumps != NULL;
	if ((t->dump_signal != 0) != (t->pid_file != NULL) ||
	    (t->dump_signal != 0 && dumps == 0))
		return err_new(ERR_CONFIG, 0, "[target %s]: dump-signal needs "
		    "pid-file and dumps", t->name);
	for (size_t i = 0; i < t->n_profiles; i++)
		heaps += strcmp(t->profiles[i].group, "heap") == 0 ||
		    strcmp(t->profiles[i].group, "allocs") == 0;
	if (heaps > 1)
		return err_new(ERR_CONFIG, 0, "[target %s] has heap and allocs,"
		    " which say the same: it would count twice", t->name);
	return NULL;
}

static void
scrape_set_rest(const struct scrape_config *c, struct scrape_target_config *t)
{
	if (t->profile_interval_ns == 0)
		t->profile_interval_ns = c->profile_interval_ns;
	if (t->profile_timeout_ns == 0)
		t->profile_timeout_ns = c->profile_timeout_ns;
	if (t->profile_bytes == 0)
		t->profile_bytes = c->profile_bytes;
}

/* Names the instances, and refuses two that would be one series. */
static const struct err *
scrape_check_targets(void *values, int *line)
{
	struct scrape_config *c = values;

	for (size_t i = 0; i < c->n_targets; i++) {
		struct scrape_target_config *t = &c->targets[i];
		const struct err *e = scrape_check_profiles(t);

		*line = t->line;
		if (e != NULL)
			return e;
		scrape_set_rest(c, t);
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
		free(c->targets[i].pid_file);
		for (int k = 0; k < SCRAPE_PAGES; k++)
			free(c->targets[i].pages[k]);
		for (size_t k = 0; k < c->targets[i].n_profiles; k++) {
			free(c->targets[i].profiles[k].place);
			free(c->targets[i].profiles[k].dumps);
		}
	}
	c->n_targets = 0;
}
