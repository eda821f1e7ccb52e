/*
 * The daemon's configuration: one table of keys (config.c) is the defaults,
 * the ranges, the errors and, by a test, the manual page.
 */
#ifndef COLLECTOR_CONFIG_H
#define COLLECTOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/profile_list.h"
#include "store/base/conf.h"

struct err;

#define CONFIG_SERVICES_MAX 64

/* [service NAME]: which processes it is.  All patterns that are set must
 * match; POSIX extended regular expressions, unanchored. */
struct config_service {
	char *name;
	char *comm, *command, *cgroup; /* patterns or NULL */
};

/* [TYPE]: how a type of profile is sampled. */
struct config_profile {
	bool enabled;
	int64_t every; /* Hz of its rate, events of its period, or ns of its
	                * threshold */
};

struct config {
	/* [store] */
	char *directory;
	int64_t slot_ns, retain_fine_ns, retain_ns, max_bytes, reserve_bytes,
	    open_bytes;
	int64_t retain_unwatched_ns; /* of services without a rule; 0: as all */
	struct config_profile profiles[N_PROFILES];
	/* [cpu]: of all types of profiles */
	int64_t cpu_budget; /* millionths of each CPU; 0: no limit */
	char *unwinder; /* "eh_frame" or "frame-pointer" */
	int64_t unwind_bytes; /* kernel memory of the rows of eh_frame */
	bool kernel;    /* kernel stacks too */
	bool cpu_inline; /* functions inlined into others too */
	/* [symbols] */
	char *mirror; /* a folder of debug files; NULL or "": none */
	/* [offcpu] */
	int64_t offcpu_budget; /* millionths of each CPU; 0: no limit */
	char *offcpu_stacks;   /* a word of config.c */
	/* [alloc_space] */
	char *alloc_library; /* NULL or "": where it is installed */
	/* [disk] */
	bool disk;
	bool run_queue, major_faults;
	bool disk_calls; /* fsync and its like as system calls */
	/* [pbft] */
	char *pbft_programs; /* names, parted by spaces; NULL or "": none */
	/* [procfs] */
	bool procfs;
	int64_t procfs_interval_ns;
	int64_t procfs_budget; /* millionths of one CPU; 0: no limit */
	/* [socket] */
	char *socket_path; /* NULL: none */
	char *socket_group;
	/* [services] */
	bool every_process;  /* a service for each comm that none matches */
	int64_t short_lived_ns; /* younger: their parent's service; 0: none */
	bool show_arguments;
	struct config_service services[CONFIG_SERVICES_MAX];
	size_t n_services;
};

extern const struct conf_spec config_spec;

/* Defaults, then the file unless path is NULL.  Errors as conf_load(). */
const struct err *config_load(struct config *c, const char *path);
void config_free(struct config *c);

#endif
