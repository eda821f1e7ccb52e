/*
 * The stats interface: what ResilientDB shows about its storage engine, its
 * process and its transactions, and a Prometheus exposition.
 */

#include "kvservice_api.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "kvservice_json.h"

namespace kv {

namespace {

/* As the real service prints it before the first flush. */
const char level_header[] =
    "                               Compactions\n"
    "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
    "--------------------------------------------------\n";

/* The shortest digits, always as a fraction. */
std::string
format_ratio(double ratio)
{
	char text[64];
	auto end = std::to_chars(text, text + sizeof(text), ratio).ptr;
	std::string out(text, end);
	if (out.find_first_of(".e") == std::string::npos)
		out += ".0";
	return out;
}

long
resident_mb()
{
	long pages = 0;
	FILE *f = std::fopen("/proc/self/statm", "r");
	if (f == nullptr)
		return 0;
	if (std::fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	std::fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

/* "name":[value] as the real one lists what a transaction did. */
std::string
json_list(const char *name, const std::string &value)
{
	return std::string("\"") + name + "\":[" + json_quote(value) + "]";
}

std::string
json_transaction(const Service &service, const Transaction &t)
{
	char numbers[512];
	/* The prepare time is unset, as it is in the real one now and then. */
	std::snprintf(numbers, sizeof(numbers),
	    "\"commit_time\":%" PRId64 ",\"execution_time\":%" PRId64 ","
	    "\"ip\":\"127.0.0.1\",\"port\":%d,\"prepare_time\":%" PRId64 ","
	    "\"primary_id\":1,\"propose_pre_prepare_time\":%" PRId64 ","
	    "\"replica_id\":1,\"txn_number\":%" PRIu64 ",",
	    t.time_ns, t.time_ns, service.port.load(), INT64_MIN, t.time_ns,
	    t.number);
	return std::string("{\"ext_cache_hit_ratio\":") +
	    format_ratio(service.store.cache().HitRatio()) + "," + numbers +
	    json_list("txn_commands", t.command) + "," +
	    json_list("txn_keys", t.key) + "," +
	    json_list("txn_values", t.value) + "}";
}

} // namespace

[[gnu::noinline]] static Response
handle_transaction_data(Service *service)
{
	const Store &store = service->store;
	struct rusage use = {};
	char numbers[256];
	getrusage(RUSAGE_SELF, &use);
	std::snprintf(numbers, sizeof(numbers), ",\"max_resident_set_size\":"
	    "%ld,\"num_reads\":%ld,\"num_writes\":%ld,"
	    "\"resident_set_size\":%ld}", use.ru_maxrss, use.ru_inblock,
	    use.ru_oublock, resident_mb());
	Response response;
	response.body = "{\"ext_cache_hit_ratio\":" +
	    format_ratio(store.cache().HitRatio()) +
	    ",\"level_db_approx_mem_size\":" +
	    json_quote(store.Property("leveldb.approximate-memory-usage")) +
	    ",\"level_db_stats\":" +
	    json_quote(service->options.empty_level_table ? level_header :
	    store.Property("leveldb.stats")) + numbers;
	return response;
}

[[gnu::noinline]] static Response
handle_consensus_data(Service *service)
{
	Response response;
	std::lock_guard<std::mutex> hold(service->mutex);
	response.body = "{";
	for (const Transaction &t : service->history) {
		if (response.body.size() > 1)
			response.body.push_back(',');
		response.body += "\"" + std::to_string(t.number) + "\":" +
		    json_transaction(*service, t);
	}
	response.body.push_back('}');
	return response;
}

[[gnu::noinline]] static Response
handle_get_status(Service *service)
{
	Response response;
	response.body = service->faulty ? "Faulty" : "Not Faulty";
	return response;
}

[[gnu::noinline]] static Response
handle_make_faulty(Service *service)
{
	Response response;
	service->faulty = !service->faulty;
	response.body = "Success";
	return response;
}

namespace {

void
append_family(std::string *out, const char *name, const char *type,
    const char *help)
{
	*out += std::string("# HELP ") + name + " " + help + "\n# TYPE " +
	    name + " " + type + "\n";
}

/* The gauges of ResilientDB; ours never prepares nor commits. */
void
append_gauges(std::string *out, const Metrics &m)
{
	uint64_t gets = m.found + m.missing, scans = m.scans, sets = m.sets;
	uint64_t all = sets + gets + scans;
	const struct {
		const char *family, *member;
		uint64_t value;
	} gauges[] = {
		{ "io_thread", "broad_cast", all },
		{ "io_thread", "socket_recv", 0 },
		{ "client", "client_req", all },
		{ "client", "client_call", m.requests },
		{ "server", "server_process", m.answers },
		{ "server", "server_call", m.requests },
		{ "consensus", "num_execute_tx", all },
		{ "consensus", "commit", 0 },
		{ "consensus", "execute", all },
		{ "consensus", "prepare", 0 },
		{ "consensus", "propose", all },
	};
	std::string last;
	for (const auto &g : gauges) {
		if (last != g.family)
			append_family(out, g.family, "gauge",
			    (std::string(g.family) + " metrics").c_str());
		last = g.family;
		*out += last + "{metrics=\"" + g.member + "\"} " +
		    std::to_string(g.value) + "\n";
	}
}

/* What the real one has not: counts and latencies per operation. */
void
append_own(std::string *out, const Service &service)
{
	const Metrics &m = service.metrics;
	const struct {
		const char *name, *labels;
		uint64_t value;
	} counters[] = {
		{ "kv_operations_total", "{op=\"set\"}", m.sets },
		{ "kv_operations_total", "{op=\"get\",found=\"yes\"}",
		    m.found },
		{ "kv_operations_total", "{op=\"get\",found=\"no\"}",
		    m.missing },
		{ "kv_operations_total", "{op=\"scan\"}", m.scans },
		{ "kv_failures_total", "", m.failures },
		{ "kv_lru_hits_total", "", service.store.cache().hits() },
		{ "kv_lru_misses_total", "", service.store.cache().misses() },
	};
	std::string last;
	for (const auto &c : counters) {
		if (last != c.name)
			append_family(out, c.name, "counter",
			    "since the start");
		last = c.name;
		*out += last + c.labels + " " + std::to_string(c.value) + "\n";
	}
	append_family(out, "kv_operation_seconds", "histogram",
	    "time in a handler, network excluded");
	m.set.Expose("kv_operation_seconds", "op=\"set\"", out);
	m.get.Expose("kv_operation_seconds", "op=\"get\"", out);
	m.scan.Expose("kv_operation_seconds", "op=\"scan\"", out);
	append_family(out, "kv_leveldb_seconds", "histogram",
	    "time in a call of LevelDB");
	m.leveldb_write.Expose("kv_leveldb_seconds", "call=\"write\"", out);
	m.leveldb_get.Expose("kv_leveldb_seconds", "call=\"get\"", out);
	m.leveldb_scan.Expose("kv_leveldb_seconds", "call=\"scan\"", out);
}

} // namespace

[[gnu::noinline]] static Response
handle_metrics(Service *service)
{
	Response response;
	Clock::time_point start = Clock::now();
	response.type = "text/plain; charset=utf-8";
	service->scrapes.Expose(service->options.nan, &response.body);
	append_gauges(&response.body, service->metrics);
	append_own(&response.body, *service);
	service->scrapes.Record(std::chrono::nanoseconds(
	    Clock::now() - start).count(), response.body.size());
	return response;
}

Response
handle_stats(Service *service, const Request &request)
{
	static const struct {
		const char *path;
		Response (*handle)(Service *);
	} routes[] = {
		{ "/transaction_data", handle_transaction_data },
		{ "/consensus_data", handle_consensus_data },
		{ "/get_status", handle_get_status },
		{ "/make_faulty", handle_make_faulty },
		{ "/metrics", handle_metrics },
	};
	Response response;
	response.status = 404;
	for (const auto &r : routes) {
		if (request.path != r.path)
			continue;
		response.status = 405;
		if (request.method == "GET")
			return r.handle(service);
	}
	return response;
}

} // namespace kv
