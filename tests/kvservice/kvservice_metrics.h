/*
 * What kvservice counts about itself: atomics that any thread may add to,
 * and latency histograms in Prometheus's form.
 */

#ifndef KVSERVICE_METRICS_H
#define KVSERVICE_METRICS_H

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace kv {

using Clock = std::chrono::steady_clock;

/* Counts durations under upper bounds of 1, 2, 5 µs … 10 s, and over. */
class Histogram {
public:
	void Record(uint64_t ns);

	/* Append the lines of one label set, e.g. op="get". */
	void Expose(const std::string &family, const std::string &labels,
	    std::string *out) const;

private:
	std::array<std::atomic<uint64_t>, 23> counts_{};
	std::atomic<uint64_t> sum_ns_{0};
};

/* Records the time from its making to Stop() or its end, once. */
class Timer {
public:
	explicit Timer(Histogram *to) : to_(to), start_(Clock::now()) {}
	Timer(const Timer &) = delete;
	Timer &operator=(const Timer &) = delete;
	~Timer() { Stop(); }

	void Stop();

private:
	Histogram *to_;
	Clock::time_point start_;
};

struct Metrics {
	std::atomic<uint64_t> requests{0}, answers{0};
	std::atomic<uint64_t> sets{0}, found{0}, missing{0}, scans{0};
	std::atomic<uint64_t> failures{0};	/* 4xx and 5xx */
	Histogram set, get, scan;		/* handlers, without network */
	Histogram leveldb_write, leveldb_get, leveldb_scan;
};

/* Latest durations of scrapes, for a summary with quantiles. */
class ScrapeLog {
public:
	void Record(uint64_t ns, size_t bytes);

	/* The exposer_* families; quantiles read Nan if asked or empty. */
	void Expose(bool nan, std::string *out) const;

private:
	mutable std::mutex mutex_;
	std::vector<double> recent_us_;		/* ring of 100 */
	uint64_t count_ = 0, bytes_ = 0;
	double sum_us_ = 0;
};

} // namespace kv

#endif
