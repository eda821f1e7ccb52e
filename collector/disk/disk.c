/*
 * source_disk: histograms of block requests by device, operation and service,
 * of fsync and its like, and of looking for memory.  The kernel sums them
 * (probe/disk_probe.h); at a slot's end they are read, and each process is
 * its service.
 *
 * A bucket comes with its count and its sum: what goes to the store is the
 * count, at values around their mean, so that counts and sums are exact, and
 * the smallest and the largest value to within a bucket.
 */
#include "collector/disk/disk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/source.h"
#include "collector/probe/disk_probe.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

#define DEVICES 64 /* whose names are kept for a slot */

/* Counters of what is not in the histograms. */
enum disk_count { COUNT_SUM, COUNT_REQUEST, COUNT_SKIPPED, COUNTS };

struct device {
	uint32_t number;
	char name[32];
};

struct disk {
	struct disk_probe *probe;
	struct services *services;
	const char *filesystem; /* whose syncs are seen */
	int64_t slot_ns;
	struct device devices[DEVICES];
	size_t n_devices;
	uint64_t told[COUNTS];
	char why[160]; /* "": all was counted in the last slot */
};

struct disk_put {
	struct disk *disk;
	struct batch *batch;
	uint64_t slot;
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
};

static const char *const disk_operations[DISK_OPERATIONS] = {"read", "write",
    "flush", "discard"};
static const char *const disk_calls[DISK_CALLS] = {"fsync", "fdatasync",
    "msync", "other"};

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

/* Where there are too many, the last one's place is used again. */
static const char *
disk_device(struct disk *d, uint32_t number)
{
	struct device *v = d->devices;

	for (; v < d->devices + d->n_devices; v++)
		if (v->number == number)
			return v->name;
	if (d->n_devices == DEVICES)
		v--;
	else
		d->n_devices++;
	v->number = number;
	device_name(number, v->name, sizeof(v->name));
	return v->name;
}

/* One that nobody could look at while it lived is one of the others. */
static const char *
disk_service(struct disk *d, uint32_t tgid)
{
	const struct process *p;

	if (tgid == 0)
		return SERVICES_KERNEL;
	p = services_last(d->services, (int32_t)tgid);
	if (p == NULL)
		p = services_process(d->services, (int32_t)tgid, 0);
	return p != NULL ? p->read->service : SERVICES_OTHER;
}

/* ---- a slot ---- */

/* Labels by name; returns how many. */
static size_t
disk_labels(struct disk *d, const struct disk_key *key, struct label l[4])
{
	unsigned operation = key->detail & (DISK_OPERATIONS - 1);
	size_t n = 0;

	if (key->what == DISK_SYNC) {
		l[n++] = (struct label){"call",
		    disk_calls[key->detail & (DISK_CALLS - 1)]};
		l[n++] = (struct label){"filesystem", d->filesystem};
	} else if (key->what <= DISK_SIZE) {
		l[n++] = (struct label){"device",
		    disk_device(d, key->device)};
		l[n++] = (struct label){"operation",
		    disk_operations[operation]};
	}
	if (key->what == DISK_SIZE)
		l[n++] = (struct label){"pattern",
		    (key->detail & DISK_RANDOM) != 0 ? "random" :
		    "sequential"};
	l[n++] = (struct label){"service", disk_service(d, key->tgid)};
	return n;
}

/* The mean need not be whole: some are one above it. */
static void
disk_put_sum(void *arg, const struct disk_key *key,
    const struct disk_sum *sum)
{
	struct disk_put *put = arg;
	struct label labels[4];
	struct series_desc d = {.kind = SERIES_HISTOGRAM, .labels = labels};
	int64_t mean, above;
	uint32_t series;

	if (key->what >= DISK_WHATS || sum->count == 0)
		return;
	d.name = disk_series[key->what].name;
	d.unit = disk_series[key->what].unit;
	d.scale = disk_series[key->what].scale;
	d.n_labels = disk_labels(put->disk, key, labels);
	series = batch_series(put->batch, &d);
	mean = (int64_t)(sum->sum / sum->count);
	above = (int64_t)(sum->sum % sum->count);
	batch_add_histogram(put->batch, series, put->slot, mean,
	    (int64_t)sum->count - above);
	if (above > 0)
		batch_add_histogram(put->batch, series, put->slot, mean + 1,
		    above);
}

static void
disk_put_losts(struct disk *d, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	static const char *const reasons[COUNTS] = {"sums full",
	    "requests full", "skipped"};
	struct label label = {"reason", NULL};
	struct series_desc desc = {.kind = SERIES_COUNTER,
	    .name = "memlens_disk_lost_total", .unit = "", .labels = &label,
	    .n_labels = 1};
	uint64_t now[COUNTS], lost = 0;
	size_t i;

	disk_probe_losts(d->probe, now);
	now[COUNT_SKIPPED] = disk_probe_skipped(d->probe);
	for (i = 0; i < COUNTS; i++) {
		label.value = reasons[i];
		batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
		    (int64_t)(now[i] - d->told[i]), (int64_t)now[i]);
		lost += now[i] - d->told[i];
		d->told[i] = now[i];
	}
	d->why[0] = '\0';
	if (lost > 0)
		snprintf(d->why, sizeof(d->why), "some requests or calls are "
		    "not in the histograms: see memlens_disk_lost_total");
}

/* In CLOCK_MONOTONIC, the end of a slot. */
static int64_t
disk_slot_end(const struct disk *d, uint64_t slot)
{
	return (int64_t)(slot + 1) * d->slot_ns - clock_wall_ns() +
	    clock_mono_ns();
}

static const struct err *
disk_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct disk *d = source;
	struct disk_put put = {d, b, slot};
	const struct err *e;

	(void)first;
	d->n_devices = 0; /* another may have the number by now */
	e = disk_probe_take(d->probe, disk_slot_end(d, slot + 1),
	    disk_put_sum, &put);
	disk_put_losts(d, b, slot, (int64_t)(slot + 1) * d->slot_ns - 1);
	return e;
}

/* ---- the source ---- */

static void
disk_nothing(void *arg, const struct disk_key *key,
    const struct disk_sum *sum)
{
	(void)arg;
	(void)key;
	(void)sum;
}

static void
disk_close(void *source)
{
	struct disk *d = source;

	disk_probe_close(d->probe);
	free(d);
}

static const struct err *
disk_open(void **out, const struct config *config, struct services *services)
{
	const struct err *e;
	struct disk *d;

	*out = NULL;
	if (!config->disk)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return err_nomem();
	d->services = services;
	d->slot_ns = config->slot_ns;
	d->filesystem = config->disk_calls ? "any" : "ext4";
	e = disk_probe_open(&d->probe, config->disk_calls);
	if (e == NULL)
		e = disk_probe_take(d->probe, disk_slot_end(d,
		    (uint64_t)(clock_wall_ns() / d->slot_ns)), disk_nothing,
		    NULL);
	if (e == NULL)
		*out = d;
	else
		disk_close(d);
	return e;
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
	(void)source;
	(void)now_ns;
	return NULL;
}

static void
disk_stop(void *source)
{
	struct disk *d = source;

	disk_probe_stop(d->probe);
}

static const char *
disk_name(size_t part)
{
	static const char *const names[DISK_PARTS] = {"disk", "sync",
	    "reclaim"};

	return part < DISK_PARTS ? names[part] : NULL;
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
	if (part != DISK_PART_REQUESTS || d->why[0] == '\0')
		return SOURCE_ATTACHED;
	*why = d->why;
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
};
