/*
 * The store: LevelDB, with a small LRU of whole values in front of it, as
 * ResilientDB has. All functions may be called from any thread.
 */

#ifndef KVSERVICE_STORE_H
#define KVSERVICE_STORE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kvservice_metrics.h"
#include "kvservice_options.h"

namespace leveldb {
class Cache;
class DB;
}

namespace kv {

/* Least recently used values; capacity 0 keeps nothing. */
class ValueCache {
public:
	explicit ValueCache(size_t capacity) : capacity_(capacity) {}

	/* Counts a hit or a miss. */
	bool Lookup(const std::string &key, std::string *value);
	void Insert(const std::string &key, const std::string &value);

	/* Hits / lookups since the start, 0 before the first lookup. */
	double HitRatio() const;
	uint64_t hits() const { return hits_; }
	uint64_t misses() const { return misses_; }

private:
	using Entry = std::pair<std::string, std::string>;

	const size_t capacity_;
	std::mutex mutex_;
	std::list<Entry> recent_;	/* newest first */
	std::unordered_map<std::string, std::list<Entry>::iterator> index_;
	std::atomic<uint64_t> hits_{0}, misses_{0};
};

class Store {
public:
	/* Opens or makes the database; throws std::runtime_error. */
	Store(const Options &options, Metrics *metrics);

	/* Waits for a running compaction. */
	~Store();

	/* False if LevelDB refused the write. */
	bool Set(const std::string &key, const std::string &value);

	enum class Found { yes, no, failed };
	Found Get(const std::string &key, std::string *value);

	/*
	 * Append the values of keys min..max (both included) to *values.
	 * False after bytes_max bytes of them or an error of LevelDB.
	 */
	bool Range(const std::string &min, const std::string &max,
	    size_t bytes_max, std::vector<std::string> *values);

	/* The same for all keys. */
	bool All(size_t bytes_max, std::vector<std::string> *values);

	/* A property of LevelDB ("leveldb.stats", …), "" if unknown. */
	std::string Property(const char *name) const;

	const ValueCache &cache() const { return lru_; }

private:
	bool Scan(const std::string &min, const std::string *max,
	    size_t bytes_max, std::vector<std::string> *values);
	std::mutex &StripeOf(const std::string &key);

	Metrics *metrics_;
	ValueCache lru_;
	bool sync_;
	/* Keeps LevelDB and LRU of one key in step. */
	std::array<std::mutex, 64> stripes_;
	std::unique_ptr<leveldb::Cache> blocks_;
	std::unique_ptr<leveldb::DB> db_;	/* goes before blocks_ */
};

} // namespace kv

#endif
