/*
 * Keys of memlens-fcgi.conf and what they mean for the struct.
 */
#include "fcgi/server/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/server/guard.h"
#include "store/base/err.h"

#define S INT64_C(1000000000)
#define AT(field) offsetof(struct settings, field)

static const struct conf_key settings_keys[] = {
    {"worker", "hosts", CONF_STRING, AT(hosts), NULL, 0, 0,
        "names of this server, beside localhost and its addresses"},
    {"worker", "deadline", CONF_DURATION, AT(deadline_ns), "30s", S / 10,
        3600 * S, "time for one request, after which its worker is ended"},
    {"worker", "memory", CONF_SIZE, AT(memory_bytes), "1GiB", 0, 0,
        "bytes that one worker may allocate; 0: no limit"},
    {"worker", "cache", CONF_SIZE, AT(cache_bytes), "8MiB", 0, 0,
        "bytes that the workers of a pool keep of the store together"},
    {"worker", "draw", CONF_STRING, AT(draw), NULL, 0, 0,
        "the program that draws pictures; else memlens-draw beside this one"},
    {"collector", "socket", CONF_STRING, AT(collector_socket),
        "/run/memlens/memlensd.sock", 0, 0,
        "memlensd's socket, for what is pushed and for named runs"},
    {"health", "stale", CONF_DURATION, AT(stale_ns), "30s", 0, 86400 * S,
        "age of the newest slot at which the status is down"},
    {"kv", "target", CONF_STRING, AT(kv_target), NULL, 0, 0,
        "address:port of a key-value service for the playground"},
    {"kv", "ca", CONF_STRING, AT(kv_ca), NULL, 0, 0,
        "certificates by which an https target is trusted"},
    {"kv", "allow-put", CONF_BOOL, AT(kv_allow_put), "no", 0, 1,
        "whether the playground may write"},
    {"kv", "timeout", CONF_DURATION, AT(kv_timeout_ns), "2s", S / 100,
        60 * S, "time for one answer of the target"},
    {"fault", "command", CONF_STRING, AT(fault_command), NULL, 0, 0,
        "program and arguments that make something faulty"},
    {"fault", "time", CONF_DURATION, AT(fault_time_ns), "30s", S / 10,
        120 * S, "time for the command, after which it is killed"},
    {"fault", "span", CONF_DURATION, AT(fault_span_ns), "60s", S, 3600 * S,
        "what is compared before the command's beginning, and after"},
};

static struct settings_graph *
settings_graph_get(struct settings *s, const char *name)
{
	struct settings_graph *g;

	for (size_t i = 0; i < s->n_graphs; i++)
		if (strcmp(s->graphs[i].name, name) == 0)
			return &s->graphs[i];
	if (s->n_graphs == SETTINGS_GRAPHS_MAX)
		return NULL;
	g = &s->graphs[s->n_graphs];
	*g = (struct settings_graph){.name = strdup(name)};
	if (g->name != NULL)
		s->n_graphs++;
	return g->name != NULL ? g : NULL;
}

static char **
settings_graph_field(struct settings_graph *g, const char *key)
{
	if (strcmp(key, "elf") == 0)
		return &g->elf;
	if (strcmp(key, "bazel") == 0)
		return &g->bazel;
	if (strcmp(key, "root") == 0)
		return &g->root;
	if (strcmp(key, "complete") == 0)
		return &g->complete;
	return NULL;
}

static const struct err *
settings_named(void *values, const char *name, const char *key,
    const char *value, int line)
{
	struct settings_graph *g = settings_graph_get(values, name);
	const struct err *e;
	int64_t yes = 0;
	char **field;

	(void)line;
	if (strlen(name) > SETTINGS_GRAPH_NAME_MAX)
		return err_new(ERR_CONFIG, 0, "a graph's name has at most %d "
		    "bytes", SETTINGS_GRAPH_NAME_MAX);
	if (g == NULL)
		return err_new(ERR_CONFIG, 0, "more than %d graphs",
		    SETTINGS_GRAPHS_MAX);
	field = settings_graph_field(g, key);
	if (field == NULL)
		return err_new(ERR_CONFIG, 0,
		    "unknown key \"%s\" in [graph %s]", key, name);
	if (field == &g->complete && (e = conf_parse(CONF_BOOL, value,
	    &yes)) != NULL)
		return e;
	if (field == &g->complete && !yes)
		value = "";
	free(*field);
	*field = strdup(value);
	return *field != NULL ? NULL : err_nomem();
}

const struct conf_spec settings_spec = {
    .keys = settings_keys,
    .n_keys = sizeof(settings_keys) / sizeof(settings_keys[0]),
    .named_prefix = "graph",
    .named = settings_named,
};

/* What one key alone cannot tell. */
static const struct err *
settings_check(const struct settings *s, const char *path)
{
	const struct err *e = guard_check_hosts(s->hosts);

	if (e != NULL)
		return err_wrap(e, "%s", path);
	if (s->draw != NULL && s->draw[0] != '/')
		return err_new(ERR_CONFIG, 0, "%s: draw is \"%.200s\", not "
		    "the path of a program from the root", path, s->draw);
	if (s->fault_command != NULL && s->fault_command[0] != '/')
		return err_new(ERR_CONFIG, 0, "%s: command is \"%.200s\", "
		    "not the path of a program from the root", path,
		    s->fault_command);
	for (size_t i = 0; i < s->n_graphs; i++) {
		const struct settings_graph *g = &s->graphs[i];

		if ((g->elf == NULL) == (g->bazel == NULL))
			return err_new(ERR_CONFIG, 0, "%s: [graph %s] needs "
			    "one of elf and bazel", path, g->name);
		if ((g->root != NULL || g->complete != NULL) &&
		    g->bazel == NULL)
			return err_new(ERR_CONFIG, 0, "%s: [graph %s] has "
			    "\"%s\", which is for bazel only", path,
			    g->name, g->root != NULL ? "root" : "complete");
	}
	return NULL;
}

/* Beside this program's own file. */
static const struct err *
settings_find_draw(struct settings *s)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return err_errno("/proc/self/exe");
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	return asprintf(&s->draw, "%s/memlens-draw", path) < 0 ? err_nomem()
							       : NULL;
}

const struct err *
settings_load(struct settings *s, const char *path)
{
	const struct err *e;

	memset(s, 0, sizeof(*s));
	if ((e = conf_defaults(&settings_spec, s)) == NULL && path != NULL &&
	    (e = conf_load(&settings_spec, path, s)) == NULL)
		e = settings_check(s, path);
	if (e == NULL && s->draw == NULL)
		e = settings_find_draw(s);
	return e;
}

void
settings_free(struct settings *s)
{
	conf_free_values(&settings_spec, s);
	for (size_t i = 0; i < s->n_graphs; i++) {
		free(s->graphs[i].name);
		free(s->graphs[i].elf);
		free(s->graphs[i].bazel);
		free(s->graphs[i].root);
		free(s->graphs[i].complete);
	}
	memset(s, 0, sizeof(*s));
}

const struct settings_graph *
settings_find_graph(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->n_graphs; i++)
		if (name == NULL || strcmp(s->graphs[i].name, name) == 0)
			return &s->graphs[i];
	return NULL;
}
