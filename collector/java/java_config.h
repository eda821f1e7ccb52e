/*
 * The configuration of memlens-java: one section, its keys in one table.
 */
#ifndef COLLECTOR_JAVA_CONFIG_H
#define COLLECTOR_JAVA_CONFIG_H

#include <stdint.h>

#include "store/base/conf.h"

struct err;

struct java_config {
	char *socket_path;
	char *comm; /* a pattern; NULL or "": nobody is asked */
	int64_t interval_ns, deadline_ns, slot_ns;
};

extern const struct conf_spec java_config_spec;

/* Errors as conf_load(), and a pattern that is none. */
const struct err *java_config_load(struct java_config *c, const char *path);
void java_config_free(struct java_config *c);

#endif
