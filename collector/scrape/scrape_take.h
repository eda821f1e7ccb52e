/*
 * From a page that was pulled to readings: names, labels, units.
 *
 *	leveldb_cache_hit_ratio             ratio
 *	leveldb_approximate_memory_bytes
 *	leveldb_resident_memory_bytes, leveldb_max_resident_memory_bytes
 *	leveldb_block_reads_total, leveldb_block_writes_total
 *	leveldb_level_files{level}, leveldb_level_size_bytes{level}
 *	leveldb_level_compaction_seconds_total{level}
 *	leveldb_level_read_bytes_total{level}, ..._write_bytes_total{level}
 *	leveldb_up                          1, or 0: no good answer
 *	memlens_scrape_up{page}, memlens_scrape_duration_seconds{page}
 *	memlens_scrape_duplicates_total{page}   values that were left away
 *
 * and a Prometheus page under the target's own names.  All have
 * instance=<host:port> and service=<name>; a page's own labels of these
 * names become exported_instance and exported_service.
 */
#ifndef COLLECTOR_SCRAPE_TAKE_H
#define COLLECTOR_SCRAPE_TAKE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct meter;

/* Where readings go. */
struct scrape_reading {
	struct meter *meter;
	const char *service, *instance;
	int64_t now_ns; /* wall */
	uint64_t max_samples;
};

struct scrape_counts {
	uint64_t taken;
	uint64_t no_data;  /* NaN */
	uint64_t refused;  /* infinite, out of range, too many, too wide */
	uint64_t bad;      /* lines or fields that were not understood */
	uint64_t again;    /* of a series that its page had already */
};

/* /transaction_data: what is understood is taken, whatever is returned. */
const struct err *scrape_take_leveldb(const struct scrape_reading *r,
    const char *text, size_t n, struct scrape_counts *counts);

/* A Prometheus page.  Of two values of one series the first is taken, as
 * Prometheus does: which of them is right nobody can say. */
const struct err *scrape_take_prometheus(const struct scrape_reading *r,
    const char *text, size_t n, struct scrape_counts *counts);

/* What became of a pull of `page`, "leveldb" or "prometheus"; `again`: how
 * many values of a series that was there already it has had so far. */
void scrape_take_outcome(const struct scrape_reading *r, const char *page,
    int up, int64_t duration_ns, uint64_t again);

#endif
