/*
 * The keys of memlens.conf: names, defaults, ranges.  What a value means is
 * in memlens.conf.5; a test compares the two.
 */
#include "collector/base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/pattern.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define YEAR (INT64_C(365) * 86400 * S)
#define AT(field) offsetof(struct config, field)

/* The keys of a line of profile_list.h. */
#define PROFILE_KEYS(name, on, unit, fallback, what)                           \
    KEY_OF_##unit(#name, AT(profiles[PROFILE_##name].every), fallback)         \
    KEY_ENABLED_##unit(#name, AT(profiles[PROFILE_##name].enabled), on, what)
#define KEY_ENABLED_ONLY(section, at, on, what)                                \
    {section, "enabled", CONF_BOOL, at, on, 0, 1, "sample " what},
#define KEY_ENABLED_RATE KEY_ENABLED_ONLY
#define KEY_ENABLED_PERIOD KEY_ENABLED_ONLY
#define KEY_ENABLED_THRESHOLD KEY_ENABLED_ONLY
#define KEY_ENABLED_PART(section, at, on, what)
#define KEY_OF_PART(section, at, fallback)
#define KEY_OF_ONLY(section, at, fallback)
#define KEY_ENABLED_LIBRARY KEY_ENABLED_ONLY
#define KEY_OF_LIBRARY(section, at, fallback)                                  \
    {section, "library", CONF_STRING, AT(alloc_library), NULL, 0, 0,           \
        "the allocator's library that programs preload"},
#define KEY_OF_RATE(section, at, fallback)                                     \
    {section, "rate", CONF_RATE, at, fallback, 1, 1000,                        \
        "samples a second and CPU"},
#define KEY_OF_PERIOD(section, at, fallback)                                   \
    {section, "period", CONF_INT, at, fallback, 1, INT64_C(1000000000),        \
        "events for a sample"},
#define KEY_OF_THRESHOLD(section, at, fallback)                                \
    {section, "threshold", CONF_DURATION, at, fallback, 10000, 10 * S,         \
        "waits from which on stacks are taken"},

static const struct conf_key config_keys[] = {
    {"store", "directory", CONF_STRING, AT(directory), "/var/lib/memlens", 0,
        0, "where the store is"},
    {"store", "slot", CONF_DURATION, AT(slot_ns), "10s", 10 * MS, 3600 * S,
        "length of a slot of a new store"},
    {"store", "retain-fine", CONF_DURATION, AT(retain_fine_ns), "30d", 0,
        100 * YEAR, "age at which single slots go; 0: never"},
    {"store", "retain", CONF_DURATION, AT(retain_ns), "2y", 0, 100 * YEAR,
        "age at which everything goes; 0: never"},
    {"store", "retain-unwatched", CONF_DURATION, AT(retain_unwatched_ns), "0",
        0, 100 * YEAR,
        "age at which services that no rule names go; 0: as all"},
    {"store", "max-size", CONF_SIZE, AT(max_bytes), "8GiB", 0, 0,
        "bytes that the store may take; 0: no limit"},
    {"store", "max-open", CONF_SIZE, AT(open_bytes), "512MiB", 0, 0,
        "bytes not sealed yet, beyond which pushes wait; 0: no limit"},
    {"store", "reserve", CONF_SIZE, AT(reserve_bytes), "256MiB", 0, 0,
        "free bytes to leave on the file system"},
    PROFILES(PROFILE_KEYS)
    {"cpu", "budget", CONF_PERCENT, AT(cpu_budget), "1%", 0, 1000000,
        "of each CPU, what sampling may take; 0%: no limit"},
    {"cpu", "unwinder", CONF_STRING, AT(unwinder), "eh_frame", 0, 0,
        "how user stacks are walked"},
    {"cpu", "unwind-memory", CONF_SIZE, AT(unwind_bytes), "0", 0,
        INT64_C(1) << 30, "kernel memory for unwind rows, at most"},
    {"cpu", "inline", CONF_BOOL, AT(cpu_inline), "no", 0, 1,
        "show functions that were inlined into others"},
    {"cpu", "kernel", CONF_BOOL, AT(kernel), "yes", 0, 1,
        "kernel stacks too"},
    {"symbols", "mirror", CONF_STRING, AT(mirror), NULL, 0, 0,
        "a folder of debug files by build id"},
    {"offcpu", "budget", CONF_PERCENT, AT(offcpu_budget), "1%", 0, 1000000,
        "of each CPU, what it may take; 0%: no limit"},
    {"offcpu", "stacks", CONF_STRING, AT(offcpu_stacks), "auto", 0, 0,
        "when stacks are taken: as threads come back, or leave"},
    {"disk", "enabled", CONF_BOOL, AT(disk), "yes", 0, 1,
        "histograms of requests, syncs and memory stalls"},
    {"disk", "run-queue", CONF_BOOL, AT(run_queue), "no", 0, 1,
        "histograms of waits to run, too"},
    {"disk", "major-faults", CONF_BOOL, AT(major_faults), "no", 0, 1,
        "histograms of page faults that had to read, too"},
    {"disk", "sync-calls", CONF_BOOL, AT(disk_calls), "no", 0, 1,
        "see fsync and its like as system calls"},
    {"pbft", "programs", CONF_STRING, AT(pbft_programs), "kv_service", 0, 0,
        "processes whose rounds of PBFT are counted"},
    {"procfs", "enabled", CONF_BOOL, AT(procfs), "yes", 0, 1,
        "read metrics from /proc and /sys"},
    {"procfs", "interval", CONF_DURATION, AT(procfs_interval_ns), "1s",
        100 * MS, 60 * S, "time between two readings"},
    {"procfs", "budget", CONF_PERCENT, AT(procfs_budget), "1%", 0, 1000000,
        "of one CPU, what readings may take; 0%: no limit"},
    {"socket", "path", CONF_STRING, AT(socket_path),
        "/run/memlens/memlensd.sock", 0, 0, "where batches come in"},
    {"socket", "group", CONF_STRING, AT(socket_group), NULL, 0, 0,
        "whose members may send batches"},
    {"services", "every-process", CONF_BOOL, AT(every_process), "yes", 0, 1,
        "a service for each command that no rule matches"},
    {"services", "short-lived", CONF_DURATION, AT(short_lived_ns), "10s", 0,
        3600 * S, "age at which a command is a service of its own"},
    {"services", "show-arguments", CONF_BOOL, AT(show_arguments), "no", 0, 1,
        "keep the arguments of processes"},
};

#define WORDS_MAX 5

/* Keys that have one of a few words. */
static const struct config_words {
	const char *key;
	size_t offset;
	const char *words[WORDS_MAX];
	const char *text;
} config_words[] = {
    {"unwinder", AT(unwinder), {"frame-pointer", "eh_frame"},
        "is neither frame-pointer nor eh_frame"},
    {"stacks", AT(offcpu_stacks), {"auto", "interrupt", "back", "schedule",
        "leave"}, "is neither auto, interrupt, back, schedule nor leave"},
};

/* The rule of this name, made when it is new; NULL when there are too many. */
static struct config_service *
config_service_get(struct config *c, const char *name)
{
	struct config_service *s;

	for (size_t i = 0; i < c->n_services; i++) {
		if (strcmp(c->services[i].name, name) == 0)
			return &c->services[i];
	}
	if (c->n_services == CONFIG_SERVICES_MAX)
		return NULL;
	s = &c->services[c->n_services];
	*s = (struct config_service){strdup(name), NULL, NULL, NULL};
	if (s->name != NULL)
		c->n_services++;
	return s->name == NULL ? NULL : s;
}

static char **
config_service_field(struct config_service *s, const char *key)
{
	if (strcmp(key, "comm") == 0)
		return &s->comm;
	if (strcmp(key, "command") == 0)
		return &s->command;
	return strcmp(key, "cgroup") == 0 ? &s->cgroup : NULL;
}

static const struct err *
config_set_service(void *values, const char *name, const char *key,
    const char *value, int line)
{
	struct config_service *s = config_service_get(values, name);
	struct pattern *pattern;
	const struct err *e;
	char **field;

	(void)line;
	if (s == NULL)
		return err_new(ERR_CONFIG, 0, "more than %d services",
		    CONFIG_SERVICES_MAX);
	if (name[0] == '\0' || strlen(name) > 63)
		return err_new(ERR_CONFIG, 0,
		    "a service's name has 1 to 63 bytes");
	if ((field = config_service_field(s, key)) == NULL)
		return err_new(ERR_CONFIG, 0,
		    "unknown key \"%s\" in [service %s]", key, name);
	if ((e = pattern_new(&pattern, key, value, 0)) != NULL)
		return err_new(ERR_CONFIG, 0, "%s: %s", key, e->text);
	pattern_free(pattern);
	free(*field);
	*field = strdup(value);
	return *field == NULL ? err_nomem() : NULL;
}

const struct conf_spec config_spec = {config_keys,
    sizeof(config_keys) / sizeof(config_keys[0]), "service",
    config_set_service, NULL};

/* The line that sets `key`, last one first; 0 when there is none. */
static int
config_find_line(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	size_t n = strlen(key);
	int number = 0, found = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *p = line + strspn(line, " \t");

		number++;
		if (strncmp(p, key, n) == 0 && strchr(" \t=:", p[n]) != NULL)
			found = number;
	}
	fclose(f);
	return found;
}

/* Single slots cannot stay longer than everything does. */
static const struct err *
config_check_retain(const struct config *c, const char *path)
{
	int line = config_find_line(path, "retain");

	if (c->retain_ns == 0 || c->retain_fine_ns <= c->retain_ns)
		return NULL;
	if (line == 0)
		line = config_find_line(path, "retain-fine");
	return err_new(ERR_CONFIG, line, "%s:%d: retain: everything goes after "
	    "%lld s, but single slots are to stay for %lld s (retain-fine)",
	    path, line, (long long)(c->retain_ns / NS_PER_S),
	    (long long)(c->retain_fine_ns / NS_PER_S));
}

/* The daemon's own folder is no place to start from. */
static const struct err *
config_check_mirror(const struct config *c, const char *path)
{
	int line;

	if (c->mirror == NULL || c->mirror[0] == '\0' || c->mirror[0] == '/')
		return NULL;
	line = config_find_line(path, "mirror");
	return err_new(ERR_CONFIG, line, "%s:%d: mirror: \"%s\" does not begin "
	    "with /", path, line, c->mirror);
}

static const struct err *
config_check_words(const struct config *c, const struct config_words *w,
    const char *path)
{
	char *value;
	int line;

	memcpy(&value, (const char *)c + w->offset, sizeof(value));
	for (size_t i = 0; i < WORDS_MAX && w->words[i] != NULL; i++) {
		if (value != NULL && strcmp(value, w->words[i]) == 0)
			return NULL;
	}
	line = config_find_line(path, w->key);
	return err_new(ERR_CONFIG, line, "%s:%d: %s: \"%s\" %s", path, line,
	    w->key, value != NULL ? value : "", w->text);
}

/* What a table of keys cannot say. */
static const struct err *
config_check(const struct config *c, const char *path)
{
	const struct err *e = config_check_retain(c, path);
	size_t i, n = sizeof(config_words) / sizeof(config_words[0]);

	if (e == NULL)
		e = config_check_mirror(c, path);
	for (i = 0; e == NULL && i < n; i++)
		e = config_check_words(c, &config_words[i], path);
	return e;
}

const struct err *
config_load(struct config *c, const char *path)
{
	const struct err *e;

	memset(c, 0, sizeof(*c));
	e = conf_defaults(&config_spec, c);
	if (e == NULL && path != NULL)
		e = conf_load(&config_spec, path, c);
	if (e == NULL && path != NULL)
		e = config_check(c, path);
	if (e != NULL)
		config_free(c);
	return e;
}

void
config_free(struct config *c)
{
	conf_free_values(&config_spec, c);
	for (size_t i = 0; i < c->n_services; i++) {
		free(c->services[i].name);
		free(c->services[i].comm);
		free(c->services[i].command);
		free(c->services[i].cgroup);
	}
	c->n_services = 0;
}
