/*
 * Small files of the kernel, a few for each control group above a service.
 */
#include "collector/procfs/procfs_limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/procfs/procfs.h"
#include "store/base/intern.h"

#define NO_LIMIT (INT64_C(1) << 62) /* what version 1 says for none, and more */
#define LEVELS_MAX 32

/* The files of a hierarchy, and what of memory.stat can be taken back. */
static const struct limits_version {
	const char *at, *max, *used, *inactive, *active;
} versions[] = {{".", "memory.max", "memory.current", "\ninactive_file ",
    "\nactive_file "}, {"memory", "memory.limit_in_bytes",
    "memory.usage_in_bytes", "\ntotal_inactive_file ",
    "\ntotal_active_file "}};

struct limits_service {
	char name[64]; /* as of process_read */
	struct limit limit; /* max 0: none */
};

struct limits {
	int root_fd;
	struct map64 seen; /* hashes of service and control group */
	size_t n_seen;
	/* Most services are in few control groups: each is read once. */
	struct map64 groups;         /* hash of a path -> its limit */
	struct limit of[LIMITS_MAX]; /* max 0: none */
	uint32_t n_groups;
	struct intern names;
	struct limits_service services[LIMITS_MAX];
	size_t n;
};

struct limits *
limits_new(const char *root)
{
	struct limits *l = calloc(1, sizeof(*l));

	if (l != NULL) /* -1: there is none, and nothing is told */
		l->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return l;
}

static void
limits_clear(struct limits *l)
{
	map64_fini(&l->seen);
	map64_fini(&l->groups);
	intern_fini(&l->names);
	l->n = l->n_seen = l->n_groups = 0;
}

void
limits_free(struct limits *l)
{
	if (l == NULL)
		return;
	limits_clear(l);
	if (l->root_fd >= 0)
		close(l->root_fd);
	free(l);
}

/* The file of a control group whose path has n bytes. */
static bool
limits_text(const struct limits *l, const struct limits_version *v,
    const char *cgroup, size_t n, const char *file, char *text, size_t cap)
{
	char path[256];

	return snprintf(path, sizeof(path), "%s%.*s/%s", v->at, (int)n,
	    cgroup, file) < (int)sizeof(path) &&
	    readfile_at(l->root_fd, path, text, cap) > 0;
}

/* False for "max" too. */
static bool
limits_number(const struct limits *l, const struct limits_version *v,
    const char *cgroup, size_t n, const char *file, int64_t *value)
{
	char text[64], *end;

	if (!limits_text(l, v, cgroup, n, file, text, sizeof(text)))
		return false;
	*value = strtoll(text, &end, 10);
	return end != text && *value >= 0;
}

static int64_t
limits_stat(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p == NULL ? 0 : strtoll(p + strlen(key), NULL, 10);
}

static bool
limits_one(const struct limits *l, const struct limits_version *v,
    const char *cgroup, size_t n, struct limit *out)
{
	char text[8192];
	int64_t used;

	if (!limits_number(l, v, cgroup, n, v->max, &out->max) ||
	    out->max >= NO_LIMIT ||
	    !limits_number(l, v, cgroup, n, v->used, &used))
		return false;
	if (!limits_text(l, v, cgroup, n, "memory.stat", text, sizeof(text)))
		text[0] = '\0';
	out->left = out->max - used + limits_stat(text, v->inactive) +
	    limits_stat(text, v->active);
	if (out->left < 0)
		out->left = 0;
	if (out->left > out->max)
		out->left = out->max;
	return true;
}

static bool
limits_above(const struct limits *l, const struct limits_version *v,
    const char *cgroup, struct limit *out)
{
	size_t n = strlen(cgroup);
	struct limit one;
	bool any = false;

	for (int i = 0; n > 0 && i < LEVELS_MAX; i++) {
		if (limits_one(l, v, cgroup, n, &one) &&
		    (!any || one.left < out->left)) {
			*out = one;
			any = true;
		}
		while (n > 0 && cgroup[--n] != '/')
			;
	}
	return any;
}

bool
limits_of(const struct limits *l, const char *cgroup, struct limit *out)
{
	/* "/../x" is what lies outside of our own namespace */
	if (l->root_fd < 0 || cgroup[0] != '/' || strstr(cgroup, "/..") != NULL)
		return false;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (limits_above(l, &versions[i], cgroup, out))
			return true;
	return false;
}

static struct limits_service *
limits_service(struct limits *l, const char *name)
{
	uint32_t i = intern_put(&l->names, name, strlen(name));

	if (i == INTERN_NONE || i >= LIMITS_MAX)
		return NULL;
	if (i == l->n) {
		l->n++;
		l->services[i].limit.max = 0;
		snprintf(l->services[i].name, sizeof(l->services[i].name),
		    "%s", name);
	}
	return &l->services[i];
}

/* The limit of a control group, as it was when it was read in this pass. */
static bool
limits_of_group(struct limits *l, const char *cgroup, struct limit *out)
{
	uint64_t key = hash64(2, cgroup, strlen(cgroup));
	uint32_t i = map64_get(&l->groups, key);

	if (i == INTERN_NONE) {
		if (l->n_groups == LIMITS_MAX ||
		    !map64_add(&l->groups, key, l->n_groups))
			return limits_of(l, cgroup, out);
		i = l->n_groups++;
		if (!limits_of(l, cgroup, &l->of[i]))
			l->of[i].max = 0;
	}
	*out = l->of[i];
	return out->max > 0;
}

void
limits_add(struct limits *l, const char *service, const char *cgroup)
{
	uint64_t key = hash64(hash64(1, service, strlen(service) + 1), cgroup,
	    strlen(cgroup));
	struct limits_service *s;
	struct limit limit;

	if (map64_get(&l->seen, key) != INTERN_NONE ||
	    l->n_seen >= LIMITS_MAX || !map64_add(&l->seen, key, 0))
		return;
	l->n_seen++;
	if (!limits_of_group(l, cgroup, &limit) ||
	    (s = limits_service(l, service)) == NULL)
		return;
	if (s->limit.max == 0 || limit.left < s->limit.left)
		s->limit = limit;
}

void
limits_put(struct limits *l, const struct procfs_reading *r)
{
	static const struct procfs_metric max = GAUGE(
	    "memlens_service_memory_limit_bytes", "bytes", 0),
	    left = GAUGE("memlens_service_memory_available_bytes", "bytes",
	    0);

	for (size_t i = 0; i < l->n; i++) {
		struct label service = {"service", l->services[i].name};

		procfs_put(r, &max, &service, 1, l->services[i].limit.max);
		procfs_put(r, &left, &service, 1, l->services[i].limit.left);
	}
	limits_clear(l);
}
