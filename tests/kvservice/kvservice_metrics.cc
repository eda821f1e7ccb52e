/*
 * Histograms and their exposition.
 */

#include "kvservice_metrics.h"

#include <algorithm>
#include <cstdio>

namespace kv {

namespace {

const struct {
	uint64_t ns;
	const char *le;
} bounds[] = {
	{ 1000, "1e-06" }, { 2000, "2e-06" }, { 5000, "5e-06" },
	{ 10000, "1e-05" }, { 20000, "2e-05" }, { 50000, "5e-05" },
	{ 100000, "0.0001" }, { 200000, "0.0002" }, { 500000, "0.0005" },
	{ 1000000, "0.001" }, { 2000000, "0.002" }, { 5000000, "0.005" },
	{ 10000000, "0.01" }, { 20000000, "0.02" }, { 50000000, "0.05" },
	{ 100000000, "0.1" }, { 200000000, "0.2" }, { 500000000, "0.5" },
	{ 1000000000, "1" }, { 2000000000, "2" }, { 5000000000, "5" },
	{ 10000000000, "10" }, { UINT64_MAX, "+Inf" },
};

constexpr size_t scrapes_kept = 100;

} // namespace

void
Histogram::Record(uint64_t ns)
{
	static_assert(sizeof(bounds) / sizeof(bounds[0]) ==
	    std::tuple_size<decltype(counts_)>::value, "a count per bound");
	size_t i = 0;
	while (ns > bounds[i].ns)
		i++;
	counts_[i].fetch_add(1, std::memory_order_relaxed);
	sum_ns_.fetch_add(ns, std::memory_order_relaxed);
}

void
Histogram::Expose(const std::string &family, const std::string &labels,
    std::string *out) const
{
	char line[256];
	uint64_t total = 0;
	double sum = (double)sum_ns_ / 1e9;
	for (size_t i = 0; i < counts_.size(); i++) {
		total += counts_[i];
		std::snprintf(line, sizeof(line),
		    "%s_bucket{%s,le=\"%s\"} %llu\n", family.c_str(),
		    labels.c_str(), bounds[i].le, (unsigned long long)total);
		*out += line;
	}
	std::snprintf(line, sizeof(line), "%s_sum{%s} %.9f\n"
	    "%s_count{%s} %llu\n", family.c_str(), labels.c_str(), sum,
	    family.c_str(), labels.c_str(), (unsigned long long)total);
	*out += line;
}

void
Timer::Stop()
{
	if (to_ == nullptr)
		return;
	to_->Record(std::chrono::nanoseconds(Clock::now() - start_).count());
	to_ = nullptr;
}

void
ScrapeLog::Record(uint64_t ns, size_t bytes)
{
	std::lock_guard<std::mutex> hold(mutex_);
	double us = (double)ns / 1e3;
	if (recent_us_.size() < scrapes_kept)
		recent_us_.push_back(us);
	else
		recent_us_[count_ % scrapes_kept] = us;
	count_++;
	bytes_ += bytes;
	sum_us_ += us;
}

void
ScrapeLog::Expose(bool nan, std::string *out) const
{
	std::lock_guard<std::mutex> hold(mutex_);
	std::vector<double> sorted = recent_us_;
	std::sort(sorted.begin(), sorted.end());
	char line[512];
	std::snprintf(line, sizeof(line),
	    "# HELP exposer_transferred_bytes_total Transferred bytes to "
	    "metrics services\n"
	    "# TYPE exposer_transferred_bytes_total counter\n"
	    "exposer_transferred_bytes_total %llu\n",
	    (unsigned long long)bytes_);
	*out += line;
	std::snprintf(line, sizeof(line),
	    "# HELP exposer_scrapes_total Number of times metrics were "
	    "scraped\n"
	    "# TYPE exposer_scrapes_total counter\n"
	    "exposer_scrapes_total %llu\n", (unsigned long long)count_);
	*out += line;
	std::snprintf(line, sizeof(line),
	    "# HELP exposer_request_latencies Latencies of serving scrape "
	    "requests, in microseconds\n"
	    "# TYPE exposer_request_latencies summary\n"
	    "exposer_request_latencies_count %llu\n"
	    "exposer_request_latencies_sum %.0f\n",
	    (unsigned long long)count_, sum_us_);
	*out += line;
	for (const char *q : { "0.5", "0.9", "0.99" }) {
		size_t rank = (size_t)(std::stod(q) * (double)sorted.size());
		std::string text = "Nan";
		if (!nan && !sorted.empty())
			text = std::to_string(sorted[
			    std::min(rank, sorted.size() - 1)]);
		*out += "exposer_request_latencies{quantile=\"" +
		    std::string(q) + "\"} " + text + "\n";
	}
}

} // namespace kv
