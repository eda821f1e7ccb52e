/*
 * The keys of memlens-java.conf; memlens-java.8 says what they mean.
 */
#include "collector/java/java_config.h"

#include <string.h>

#include "store/base/err.h"
#include "store/base/pattern.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define AT(field) offsetof(struct java_config, field)

static const struct conf_key java_keys[] = {
    {"java", "comm", CONF_STRING, AT(comm), NULL, 0, 0,
        "names of the processes that are asked"},
    {"java", "interval", CONF_DURATION, AT(interval_ns), "60s", S, 86400 * S,
        "time between two maps of a process, at least"},
    {"java", "deadline", CONF_DURATION, AT(deadline_ns), "10s", 100 * MS,
        60 * S, "time that a process has to answer"},
    {"java", "socket", CONF_STRING, AT(socket_path),
        "/run/memlens/memlensd.sock", 0, 0, "memlensd's socket"},
    {"java", "slot", CONF_DURATION, AT(slot_ns), "10s", 10 * MS, 3600 * S,
        "length of a slot: the store's"},
};

const struct conf_spec java_config_spec = {java_keys,
    sizeof(java_keys) / sizeof(java_keys[0]), NULL, NULL, NULL};

const struct err *
java_config_load(struct java_config *c, const char *path)
{
	struct pattern *pattern = NULL;
	const struct err *e;

	memset(c, 0, sizeof(*c));
	e = conf_defaults(&java_config_spec, c);
	if (e == NULL)
		e = conf_load(&java_config_spec, path, c);
	if (e == NULL && c->comm != NULL && c->comm[0] != '\0' &&
	    (e = pattern_new(&pattern, "comm", c->comm, 0)) != NULL)
		e = err_new(ERR_CONFIG, 0, "%s: comm: %s", path, e->text);
	pattern_free(pattern);
	if (e != NULL)
		java_config_free(c);
	return e;
}

void
java_config_free(struct java_config *c)
{
	conf_free_values(&java_config_spec, c);
}
