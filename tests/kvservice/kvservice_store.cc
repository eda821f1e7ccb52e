/*
 * LevelDB and the LRU in front of it. A key's write and the fill of its LRU
 * entry happen under one of 64 locks, so that a slow reader never puts an old
 * value back over a new one.
 */

#include "kvservice_store.h"

#include <sys/prctl.h>

#include <stdexcept>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

namespace kv {

bool
ValueCache::Lookup(const std::string &key, std::string *value)
{
	std::lock_guard<std::mutex> hold(mutex_);
	auto it = index_.find(key);
	if (it == index_.end()) {
		misses_++;
		return false;
	}
	hits_++;
	recent_.splice(recent_.begin(), recent_, it->second);
	*value = it->second->second;
	return true;
}

void
ValueCache::Insert(const std::string &key, const std::string &value)
{
	std::lock_guard<std::mutex> hold(mutex_);
	auto it = index_.find(key);
	if (it != index_.end()) {
		it->second->second = value;
		recent_.splice(recent_.begin(), recent_, it->second);
		return;
	}
	recent_.emplace_front(key, value);
	index_[key] = recent_.begin();
	if (recent_.size() > capacity_) {
		index_.erase(recent_.back().first);
		recent_.pop_back();
	}
}

double
ValueCache::HitRatio() const
{
	double hits = hits_, all = hits + misses_;
	return all > 0 ? hits / all : 0;
}

namespace {

/* It would bear the name of whichever thread wrote first. */
void
name_background_thread(void *)
{
	prctl(PR_SET_NAME, "leveldb-bg");
}

} // namespace

Store::Store(const Options &options, Metrics *metrics)
    : metrics_(metrics), lru_(options.lru), sync_(options.sync),
      blocks_(leveldb::NewLRUCache(options.cache))
{
	leveldb::Env::Default()->Schedule(name_background_thread, nullptr);

	leveldb::Options how;
	how.create_if_missing = true;
	how.write_buffer_size = options.write_buffer;
	how.block_cache = blocks_.get();
	leveldb::DB *db;
	leveldb::Status status = leveldb::DB::Open(how, options.db, &db);
	if (!status.ok())
		throw std::runtime_error(status.ToString());
	db_.reset(db);
}

Store::~Store() = default;

std::mutex &
Store::StripeOf(const std::string &key)
{
	return stripes_[std::hash<std::string>()(key) % stripes_.size()];
}

bool
Store::Set(const std::string &key, const std::string &value)
{
	leveldb::WriteOptions how;
	how.sync = sync_;
	std::lock_guard<std::mutex> hold(StripeOf(key));
	Timer timer(&metrics_->leveldb_write);
	if (!db_->Put(how, key, value).ok())
		return false;
	timer.Stop();
	lru_.Insert(key, value);
	return true;
}

Store::Found
Store::Get(const std::string &key, std::string *value)
{
	if (lru_.Lookup(key, value))
		return Found::yes;
	std::lock_guard<std::mutex> hold(StripeOf(key));
	Timer timer(&metrics_->leveldb_get);
	leveldb::Status status =
	    db_->Get(leveldb::ReadOptions(), key, value);
	timer.Stop();
	if (status.IsNotFound())
		return Found::no;
	if (!status.ok())
		return Found::failed;
	lru_.Insert(key, *value);
	return Found::yes;
}

bool
Store::Scan(const std::string &min, const std::string *max, size_t bytes_max,
    std::vector<std::string> *values)
{
	Timer timer(&metrics_->leveldb_scan);
	std::unique_ptr<leveldb::Iterator> it(
	    db_->NewIterator(leveldb::ReadOptions()));
	size_t bytes = 0;
	for (it->Seek(min); it->Valid(); it->Next()) {
		if (max != nullptr && it->key().compare(*max) > 0)
			break;
		bytes += it->value().size() + 1;
		if (bytes > bytes_max)
			return false;
		values->push_back(it->value().ToString());
	}
	return it->status().ok();
}

bool
Store::Range(const std::string &min, const std::string &max, size_t bytes_max,
    std::vector<std::string> *values)
{
	return Scan(min, &max, bytes_max, values);
}

bool
Store::All(size_t bytes_max, std::vector<std::string> *values)
{
	return Scan("", nullptr, bytes_max, values);
}

std::string
Store::Property(const char *name) const
{
	std::string value;
	if (!db_->GetProperty(name, &value))
		value.clear();
	return value;
}

} // namespace kv
