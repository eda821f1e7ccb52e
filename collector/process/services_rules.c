/*
 * Patterns are compiled once, at the start, so that a wrong one is an error of
 * the configuration and not of the first process that meets it.
 */
#include "collector/process/services_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/config.h"
#include "collector/base/readfile.h"
#include "collector/process/services.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/base/pattern.h"

enum { RULE_COMM, RULE_COMMAND, RULE_CGROUP, RULE_PATTERNS };

struct rule {
	const char *name;
	struct pattern *pattern[RULE_PATTERNS]; /* NULL: not given */
	bool told; /* that a process had no answer */
};

struct services_rules {
	size_t n;
	struct rule rules[CONFIG_SERVICES_MAX];
};

static const struct err *
rule_compile(struct rule *r, int which, const char *pattern)
{
	const struct err *e = pattern == NULL ? NULL :
	    pattern_new(&r->pattern[which], r->name, pattern, 0);

	return e == NULL ? NULL :
	    err_new(ERR_CONFIG, 0, "[service %s]: %s", r->name, e->text);
}

const struct err *
services_rules_new(struct services_rules **out, const struct config *config)
{
	struct services_rules *r = calloc(1, sizeof(*r));
	const struct err *e = NULL;

	if (r == NULL)
		return err_nomem();
	for (size_t i = 0; i < config->n_services && e == NULL; i++) {
		const struct config_service *c = &config->services[i];
		struct rule *rule = &r->rules[r->n++];

		rule->name = c->name;
		e = rule_compile(rule, RULE_COMM, c->comm);
		if (e == NULL)
			e = rule_compile(rule, RULE_COMMAND, c->command);
		if (e == NULL)
			e = rule_compile(rule, RULE_CGROUP, c->cgroup);
	}
	if (e != NULL) {
		services_rules_free(r);
		return e;
	}
	*out = r;
	return NULL;
}

void
services_rules_free(struct services_rules *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->n; i++) {
		for (int p = 0; p < RULE_PATTERNS; p++) {
			pattern_free(r->rules[i].pattern[p]);
		}
	}
	free(r);
}

/* A text whose match has no answer does not match, which is said once. */
static bool
rule_matches(struct rule *r, int which, const char *text)
{
	struct pattern *p = r->pattern[which];
	bool yes = pattern_match(p, text);
	const struct err *e = pattern_check(p);

	if (e != NULL && !r->told)
		log_warn("[service %s]: %s", r->name, e->text);
	r->told |= e != NULL;
	pattern_reset(p);
	return yes;
}

const char *
services_rules_match(struct services_rules *r, const struct process_read *p)
{
	const char *text[RULE_PATTERNS] = {p->comm, p->command, p->cgroup};

	for (size_t i = 0; i < r->n; i++) {
		struct rule *rule = &r->rules[i];
		int set = 0, matched = 0;

		for (int k = 0; k < RULE_PATTERNS; k++) {
			if (rule->pattern[k] == NULL)
				continue;
			set++;
			matched += rule_matches(rule, k, text[k]);
		}
		if (set > 0 && matched == set)
			return rule->name;
	}
	return NULL;
}

/* Lines are "number:controllers:path"; version 2's are "0::path". */
void
services_cgroup(char *text, char *out, size_t cap)
{
	char *line, *path;

	out[0] = '\0';
	while ((line = readfile_line(&text)) != NULL) {
		path = strchr(line, ':');
		if (path == NULL || (path = strchr(path + 1, ':')) == NULL ||
		    strcmp(++path, "/") == 0)
			continue;
		if (out[0] == '\0' || strncmp(line, "0::", 3) == 0)
			snprintf(out, cap, "%s", path);
	}
}
