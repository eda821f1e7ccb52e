/*
 * source_disk: histograms of block requests by device, operation and service,
 * of fsync and its like, and of looking for memory.  The kernel sums them
 * (probe/disk_probe.h); on the way and at a slot's end they are read, and each
 * process is its service, living or not.
 */
#include "collector/disk/disk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/source.h"
#include "collector/disk/bins.h"
#include "collector/probe/disk_probe.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/batch/batch.h"

#define DEVICES 64 /* whose names are kept for a slot */
#define LOST_SLOTS 30 /* in which a loss is said, */
#define LOST_SHARE 100 /* where it is more than a hundredth of the slot's; */
#define VALUES 3 /* a request has so many, at most: queue, device, size */
#define SERVICE_NAME_MAX sizeof(((struct process_read *)0)->service)

/* Counters of what is not in the histograms: the probe's, and ours. */
enum disk_count { COUNT_SKIPPED = DISK_LOSTS, COUNT_MEMORY, COUNTS };

/* Whose they are. */
static const struct {
	const char *reason;
	enum disk_part part;
} disk_counts[COUNTS] = {
    [DISK_LOST_SUM] = {"sums full", DISK_PART_REQUESTS},
    [DISK_LOST_QUEUED] = {"run queue full", DISK_PART_RUN_QUEUE},
    [DISK_LOST_REQUEST] = {"beginning unknown", DISK_PART_REQUESTS},
    [DISK_LOST_END] = {"end not seen", DISK_PART_REQUESTS},
    [COUNT_SKIPPED] = {"skipped", DISK_PART_REQUESTS},
    [COUNT_MEMORY] = {"no memory", DISK_PART_REQUESTS},
};

/* What is lost of a part, in a slot and lately; of REQUESTS and RUN_QUEUE. */
struct disk_loss {
	uint64_t values; /* of the slot, in the histograms, */
	uint64_t lost;   /* and not in them */
	uint64_t slot;   /* the last one in which it was said */
	char why[160];   /* "": all was counted for a while */
};

struct device {
	uint32_t number;
	char name[32];
};

/* What a bucket is of; its key has 16 bits of service, device and bucket each,
 * then 8 of what and detail each. */
struct disk_bin {
	uint32_t service, device; /* places in names and devices */
	uint8_t what, detail;
};

struct disk {
	struct disk_probe *probe;
	const struct config *config;
	struct services *services;
	const char *filesystem; /* whose syncs are seen */
	int64_t slot_ns;
	struct device devices[DEVICES];
	size_t n_devices;
	struct intern names; /* of services */
	struct map64 owners; /* numbers of these, by process */
	struct bins bins;
	uint64_t no_memory; /* values that found none */
	uint64_t told[COUNTS];
	struct disk_loss losses[DISK_PARTS];
};

static const struct {
	const char *name, *unit;
	uint8_t scale;
} disk_series[DISK_WHATS] = {
    [DISK_QUEUE] = {"disk_queue_seconds", "seconds", 9},
    [DISK_DEVICE] = {"disk_device_seconds", "seconds", 9},
    [DISK_SIZE] = {"disk_request_bytes", "bytes", 0},
    [DISK_SYNC] = {"disk_sync_seconds", "seconds", 9},
    [DISK_RECLAIM] = {"direct_reclaim_seconds", "seconds", 9},
    [DISK_COMPACT] = {"compaction_seconds", "seconds", 9},
    [DISK_RUN_QUEUE] = {"run_queue_seconds", "seconds", 9},
    [DISK_FAULT] = {"major_fault_seconds", "seconds", 9},
};

static const char *const disk_operations[DISK_OPERATIONS] = {"read", "write",
    "flush", "discard"};
static const char *const disk_calls[DISK_CALLS] = {"fsync", "fdatasync",
    "msync", "other"};

static const char *const part_names[DISK_PARTS] = {"disk", "sync", "reclaim",
    "run queue", "major faults"};

/* ---- names ---- */

static void
device_name(uint32_t number, char *out, size_t size)
{
	char path[64], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", number >> 20,
	    number & 0xfffff);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	name = strrchr(target, '/');
	if (name != NULL)
		snprintf(out, size, "%s", name + 1);
	else
		snprintf(out, size, "%u:%u", number >> 20, number & 0xfffff);
}

/* Its place in d->devices; where there are too many, all others share one. */
static uint32_t
disk_device(struct disk *d, uint32_t number)
{
	struct device *v = d->devices;
	uint32_t i = 0;

	while (i < d->n_devices && v[i].number != number)
		i++;
	if (i < d->n_devices || i == DEVICES)
		return i;
	v[i].number = number;
	device_name(number, v[i].name, sizeof(v[i].name));
	return d->n_devices++;
}

/* Cells of a process stand anywhere: what was found out is kept until all are
 * taken.  Number in d->names, or INTERN_NONE. */
static uint32_t
disk_service(struct disk *d, uint32_t tgid)
{
	char name[SERVICE_NAME_MAX] = SERVICES_KERNEL;
	uint32_t known = map64_get(&d->owners, tgid);

	if (known != INTERN_NONE)
		return known;
	if (tgid != 0)
		services_name_of(d->services, (int32_t)tgid, name,
		    sizeof(name));
	known = intern_put(&d->names, name, strlen(name));
	if (known != INTERN_NONE)
		map64_add(&d->owners, tgid, known);
	return known;
}

/* ---- what the probe hands over ---- */

/* What was found out of processes holds for as long as they may. */
static void
disk_taken(struct disk *d)
{
	map64_fini(&d->owners);
}

static uint64_t
disk_bin_key(uint32_t service, uint32_t device, const struct sums_key *key)
{
	return (uint64_t)service << 48 | (uint64_t)device << 32 |
	    (uint64_t)key->bucket << 16 | (uint64_t)key->what << 8 |
	    key->detail;
}

static struct disk_bin
disk_bin_of(uint64_t key)
{
	return (struct disk_bin){.service = (uint32_t)(key >> 48),
	    .device = (uint16_t)(key >> 32), .what = (uint8_t)(key >> 8),
	    .detail = (uint8_t)key};
}

/* Where there is no memory it is lost. */
static void
disk_take(void *arg, const struct sums_key *key, uint64_t count,
    uint64_t above)
{
	struct disk *d = arg;
	uint32_t service = disk_service(d, key->tgid);

	if (key->what >= DISK_WHATS)
		return;
	if (service == INTERN_NONE || !bins_add(&d->bins, disk_bin_key(service,
	    disk_device(d, key->device), key), key->bucket, count, above))
		d->no_memory += count;
}

/* ---- a slot ---- */

/* Labels by name; returns how many. */
static size_t
disk_labels(struct disk *d, const struct disk_bin *bin, struct label l[4])
{
	unsigned operation = bin->detail & (DISK_OPERATIONS - 1);
	size_t n = 0;

	if (bin->what == DISK_SYNC) {
		l[n++] = (struct label){"call",
		    disk_calls[bin->detail & (DISK_CALLS - 1)]};
		l[n++] = (struct label){"filesystem", (bin->detail &
		    (DISK_CALLS - 1)) == DISK_OTHER_CALL ? "ext4" :
		    d->filesystem};
	} else if (bin->what <= DISK_SIZE) {
		l[n++] = (struct label){"device", bin->device < DEVICES ?
		    d->devices[bin->device].name : "(other devices)"};
		l[n++] = (struct label){"operation",
		    disk_operations[operation]};
	}
	if (bin->what == DISK_SIZE)
		l[n++] = (struct label){"pattern",
		    (bin->detail & DISK_RANDOM) != 0 ? "random" :
		    "sequential"};
	l[n++] = (struct label){"service",
	    intern_str(&d->names, bin->service)};
	return n;
}

static void
disk_put(struct disk *d, const struct bin *from, struct batch *b,
    uint64_t slot)
{
	struct disk_bin bin = disk_bin_of(from->key);
	struct label labels[4];
	struct series_desc desc = {.kind = SERIES_HISTOGRAM, .labels = labels,
	    .name = disk_series[bin.what].name,
	    .unit = disk_series[bin.what].unit,
	    .scale = disk_series[bin.what].scale};

	desc.n_labels = disk_labels(d, &bin, labels);
	bins_put(from, b, batch_series(b, &desc), slot);
}

static enum disk_part
disk_part_of(uint8_t what)
{
	return what == DISK_RUN_QUEUE ? DISK_PART_RUN_QUEUE :
	    DISK_PART_REQUESTS;
}

/* Then the next slot begins: a device's number may be another's by then. */
static void
disk_put_all(struct disk *d, struct batch *b, uint64_t slot)
{
	for (uint32_t i = 0; i < d->bins.n; i++) {
		const struct bin *bin = &d->bins.all[i];

		disk_put(d, bin, b, slot);
		d->losses[disk_part_of(disk_bin_of(bin->key).what)].values +=
		    bin->count;
	}
	bins_clear(&d->bins);
	d->n_devices = 0;
	intern_fini(&d->names);
}

/* It is said for a while, so that somebody sees it. */
static void
disk_say(struct disk *d, enum disk_part part, uint64_t slot)
{
	struct disk_loss *l = &d->losses[part];
	unsigned values = part == DISK_PART_REQUESTS ? VALUES : 1;

	if (l->lost * values * LOST_SHARE > l->values) {
		l->slot = slot;
		snprintf(l->why, sizeof(l->why), "%llu %s are not in the "
		    "histograms of a slot: see memlens_disk_lost_total",
		    (unsigned long long)l->lost, part == DISK_PART_REQUESTS ?
		    "values of requests or calls" : "waits for a CPU");
	} else if (slot - l->slot > LOST_SLOTS) {
		l->why[0] = '\0';
	}
	l->values = l->lost = 0;
}

static void
disk_put_losts(struct disk *d, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	struct label label = {"reason", NULL};
	struct series_desc desc = {.kind = SERIES_COUNTER,
	    .name = "memlens_disk_lost_total", .unit = "", .labels = &label,
	    .n_labels = 1};
	uint64_t now[COUNTS], lost;
	size_t i;

	disk_probe_losts(d->probe, now);
	now[COUNT_SKIPPED] = disk_probe_skipped(d->probe);
	now[COUNT_MEMORY] = d->no_memory;
	for (i = 0; i < COUNTS; i++) {
		label.value = disk_counts[i].reason;
		lost = now[i] - d->told[i];
		batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
		    (int64_t)lost, (int64_t)now[i]);
		d->losses[disk_counts[i].part].lost += lost;
		d->told[i] = now[i];
	}
	disk_say(d, DISK_PART_REQUESTS, slot);
	disk_say(d, DISK_PART_RUN_QUEUE, slot);
}

/* In CLOCK_MONOTONIC, the end of a slot. */
static int64_t
disk_slot_end(const struct disk *d, uint64_t slot)
{
	return (int64_t)(slot + 1) * d->slot_ns - clock_wall_ns() +
	    clock_mono_ns();
}

/* That nothing is there means that there was nothing. */
static void
disk_put_attached(struct disk *d, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	struct label label = {"source", NULL};
	struct series_desc desc = {.kind = SERIES_GAUGE,
	    .name = "memlens_histograms_attached", .unit = "",
	    .labels = &label, .n_labels = 1};

	for (size_t i = 0; i < DISK_PARTS; i++) {
		if (disk_probe_why(d->probe, (enum disk_part)i) != NULL)
			continue;
		label.value = part_names[i];
		batch_add_gauge(b, batch_series(b, &desc), slot, time_ns, 1);
	}
}

static const struct err *
disk_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct disk *d = source;

	(void)first;
	disk_probe_take(d->probe, disk_slot_end(d, slot + 1), disk_take, d);
	disk_taken(d);
	disk_put_all(d, b, slot);
	disk_put_losts(d, b, slot, (int64_t)(slot + 1) * d->slot_ns - 1);
	disk_put_attached(d, b, slot, (int64_t)(slot + 1) * d->slot_ns - 1);
	return NULL;
}

/* ---- the source ---- */

static void
disk_close(void *source)
{
	struct disk *d = source;

	disk_probe_close(d->probe);
	map64_fini(&d->owners);
	bins_fini(&d->bins);
	intern_fini(&d->names);
	free(d);
}

static const struct err *
disk_open(void **out, const struct config *config, struct services *services)
{
	const struct disk_probe_options options = {
	    .calls = config->disk_calls, .run_queue = config->run_queue,
	    .faults = config->major_faults};
	const struct err *e;
	struct disk *d;

	*out = NULL;
	if (!config->disk)
		return NULL; /* nor the rest */
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return err_nomem();
	d->config = config;
	d->services = services;
	d->slot_ns = config->slot_ns;
	d->filesystem = config->disk_calls ? "any" : "ext4";
	e = disk_probe_open(&d->probe, &options);
	if (e != NULL) {
		disk_close(d);
		return e;
	}
	disk_probe_take(d->probe, disk_slot_end(d,
	    (uint64_t)(clock_wall_ns() / d->slot_ns)), disk_take, d);
	*out = d;
	return NULL;
}

static int
disk_fd(const void *source)
{
	(void)source;
	return -1;
}

static const struct err *
disk_poll(void *source, int64_t now_ns)
{
	struct disk *d = source;

	(void)now_ns;
	disk_probe_poll(d->probe, disk_take, d);
	disk_taken(d);
	return NULL;
}

static void
disk_stop(void *source)
{
	struct disk *d = source;

	disk_probe_stop(d->probe);
}

static bool
disk_reload(void *source, const struct config *config)
{
	struct disk *d = source;
	int i;

	for (i = 0; i < DISK_PARTS; i++)
		if (disk_probe_why(d->probe, (enum disk_part)i) != NULL &&
		    !disk_probe_lacks(d->probe, (enum disk_part)i))
			return false;
	if (!conf_same(&config_spec, "disk", d->config, config))
		return false;
	d->config = config;
	return true;
}

static const char *
disk_name(size_t part)
{
	return part < DISK_PARTS ? part_names[part] : NULL;
}

static enum source_state
disk_state(const void *source, size_t part, const char **why)
{
	const struct disk *d = source;

	*why = disk_probe_why(d->probe, (enum disk_part)part);
	if (*why != NULL && part != DISK_PART_REQUESTS &&
	    disk_probe_lacks(d->probe, (enum disk_part)part))
		return SOURCE_OFF; /* a kernel without ext4 lacks nothing */
	if (*why != NULL)
		return SOURCE_NOT_ATTACHED;
	if (d->losses[part].why[0] == '\0')
		return SOURCE_ATTACHED;
	*why = d->losses[part].why;
	return SOURCE_DEGRADED;
}

const struct source_ops source_disk = {
    .spends = SPENT_OTHER,
    .name = disk_name,
    .open = disk_open,
    .fd = disk_fd,
    .poll = disk_poll,
    .close_slot = disk_close_slot,
    .state = disk_state,
    .close = disk_close,
    .stop = disk_stop,
    .reload = disk_reload,
};
