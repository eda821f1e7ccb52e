/*
 * The two interfaces of the service: the key-value one and the stats one.
 * Each is a table of routes; every handler is kv::handle_NAME.
 */

#ifndef KVSERVICE_API_H
#define KVSERVICE_API_H

#include <atomic>
#include <deque>
#include <mutex>
#include <string>

#include "kvservice_http.h"
#include "kvservice_metrics.h"
#include "kvservice_options.h"
#include "kvservice_store.h"

namespace kv {

/* One entry of /consensus_data. */
struct Transaction {
	uint64_t number;
	int64_t time_ns;	/* of the commit, since 1970 */
	std::string command, key, value;
};

/* What the handlers share; lives as long as the servers. */
struct Service {
	explicit Service(const Options &opts);

	/* Keep the newest --consensus-entries of them. */
	void Remember(const char *command, const std::string &key,
	    const std::string &value);

	const Options options;
	Metrics metrics;
	ScrapeLog scrapes;
	Store store;
	std::atomic<bool> faulty{false};
	std::atomic<int> port{0};

	std::mutex mutex;		/* of what follows */
	std::deque<Transaction> history;
	uint64_t transactions = 0;
	Clock::time_point all_allowed;	/* end of the cooldown */
};

/* The answer of the key-value interface (--port). */
Response handle_kv(Service *service, const Request &request);

/* The answer of the stats interface (--stats-port). */
Response handle_stats(Service *service, const Request &request);

} // namespace kv

#endif
