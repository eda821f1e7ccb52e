/*
 * The scraper's configuration: memlens-scrape.8 describes it.
 */
#ifndef COLLECTOR_SCRAPE_CONFIG_H
#define COLLECTOR_SCRAPE_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/conf.h"

struct err;
struct http_place;

#define SCRAPE_TARGETS_MAX 64

/* The pages that a target may have: keys of the configuration, and labels. */
#define SCRAPE_PAGES 2
extern const char *const scrape_page_kinds[SCRAPE_PAGES];

/* Where profiles come from: a URL, or the prefix of dump files. */
#define SCRAPE_PROFILES 8 /* of a target */
struct scrape_profile_config {
	struct http_place *place; /* or NULL */
	char *dumps;              /* or NULL */
	char group[16];           /* the last part of the path */
};

/* [target NAME] */
struct scrape_target_config {
	char *name;
	char *service;             /* NULL: the name */
	char *instance;            /* never NULL once loaded */
	struct http_place *pages[SCRAPE_PAGES]; /* or NULL */
	struct scrape_profile_config profiles[SCRAPE_PROFILES];
	size_t n_profiles;
	int dump_signal; /* that asks for one of the dumps; 0: none */
	char *pid_file;  /* of who is asked, or NULL */
	/* of them; 0: those of [scrape] */
	int64_t profile_interval_ns, profile_timeout_ns, profile_bytes;
	int line; /* the last that says something of it */
};

struct scrape_config {
	/* [scrape] */
	char *socket_path;
	char *ca; /* of https targets; NULL: the system's */
	int64_t interval_ns, deadline_ns, slot_ns;
	int64_t max_samples; /* of one page */
	int64_t profile_interval_ns, profile_timeout_ns, profile_bytes;
	struct scrape_target_config targets[SCRAPE_TARGETS_MAX];
	size_t n_targets;
};

extern const struct conf_spec scrape_config_spec;

/* Errors as conf_load(). */
const struct err *scrape_config_load(struct scrape_config *c,
    const char *path);
void scrape_config_free(struct scrape_config *c);

#endif
