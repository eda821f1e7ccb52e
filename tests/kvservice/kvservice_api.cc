/*
 * The key-value interface, as ResilientDB's Crow service has it, quirks
 * included where the options ask for them.
 */

#include "kvservice_api.h"

#include <random>

#include "kvservice_json.h"

namespace kv {

namespace {

constexpr size_t answer_max = 64 << 20;
constexpr std::chrono::milliseconds cooldown(30000);

const char json_type[] = "application/json";
const char text_type[] = "text/plain";

/* The decoded segments of a path after "/v1/transactions". */
using Segments = std::vector<std::string>;

Response
answer(int status, const char *type, std::string body)
{
	Response response;
	response.status = status;
	response.type = type;
	response.body = std::move(body);
	return response;
}

void
append_varint(std::string *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		out->push_back((char)(value | 0x80));
	out->push_back((char)value);
}

/* One item of the real range answer: a message in a message, unparsed. */
std::string
protobuf_item(const std::string &value, uint64_t version)
{
	std::string inner = "\x0a", outer = "\x0a";
	append_varint(&inner, value.size());
	inner += value;
	inner.push_back(0x18);
	append_varint(&inner, version);
	append_varint(&outer, inner.size());
	return outer + inner;
}

std::string
join_values(const std::vector<std::string> &values, bool bad)
{
	std::string out = "[";
	uint64_t version = 0;
	for (const std::string &value : values) {
		if (out.size() > 1)
			out.push_back(',');
		out += bad ? protobuf_item(value, ++version) : value;
	}
	out.push_back(']');
	return out;
}

/* 0.45 to 1.55 times the middle: a round of consensus. */
std::chrono::nanoseconds
consensus_delay(long middle_ms)
{
	thread_local std::minstd_rand random{std::random_device()()};
	std::uniform_real_distribution<double> factor(0.45, 1.55);
	return std::chrono::nanoseconds(
	    (int64_t)((double)middle_ms * 1e6 * factor(random)));
}

} // namespace

Service::Service(const Options &opts)
    : options(opts), store(opts, &metrics)
{
}

void
Service::Remember(const char *command, const std::string &key,
    const std::string &value)
{
	int64_t now = std::chrono::nanoseconds(
	    std::chrono::system_clock::now().time_since_epoch()).count();
	std::lock_guard<std::mutex> hold(mutex);
	transactions++;
	if (options.consensus_entries == 0)
		return;
	history.push_back({ transactions, now, command, key,
	    value.substr(0, 256) });
	if (history.size() > (size_t)options.consensus_entries)
		history.pop_front();
}

[[gnu::noinline]] static Response
handle_commit(Service *service, const Request &request, const Segments &)
{
	std::string id;
	if (!json_object_id(request.body, &id))
		return answer(400, text_type, "Invalid transaction format");
	Timer timer(&service->metrics.set);
	bool ok = service->store.Set(id, request.body);
	timer.Stop();
	service->metrics.sets++;
	service->Remember("SET", id, request.body);
	return answer(ok ? 201 : 500, text_type, "id: " + id);
}

[[gnu::noinline]] static Response
handle_get(Service *service, const Request &, const Segments &segments)
{
	const Options &options = service->options;
	const std::string &key = segments[0];
	std::string value;
	Timer timer(&service->metrics.get);
	Store::Found found = service->store.Get(key, &value);
	timer.Stop();
	if (found == Store::Found::failed)
		return answer(500, text_type, "get value fail");
	if (found == Store::Found::yes)
		service->metrics.found++;
	else
		service->metrics.missing++;
	service->Remember("GET", key, "");
	Response response = answer(200, json_type, std::move(value));
	if (options.slow_get_ms > 0)
		response.delay = consensus_delay(options.slow_get_ms);
	response.hang = !options.hang_get.empty() &&
	    key.compare(0, options.hang_get.size(), options.hang_get) == 0;
	return response;
}

[[gnu::noinline]] static Response
handle_range(Service *service, const Request &, const Segments &segments)
{
	const Options &options = service->options;
	std::vector<std::string> values;
	Timer timer(&service->metrics.scan);
	bool ok = service->store.Range(segments[0], segments[1], answer_max,
	    &values);
	timer.Stop();
	service->metrics.scans++;
	if (!ok)
		return answer(500, text_type, "getrange fail");
	Response response = answer(200, json_type,
	    join_values(values, options.bad_range));
	if (options.slow_get_ms > 0)
		response.delay = consensus_delay(options.slow_get_ms);
	return response;
}

[[gnu::noinline]] static Response
handle_all(Service *service, const Request &, const Segments &)
{
	std::vector<std::string> values;
	{
		std::lock_guard<std::mutex> hold(service->mutex);
		Clock::time_point now = Clock::now();
		auto left = std::chrono::ceil<std::chrono::milliseconds>(
		    service->all_allowed - now);
		if (left.count() > 0)
			return answer(503, text_type,
			    "Get all transactions functionality on cooldown (" +
			    std::to_string(left.count()) + " ms left)");
		service->all_allowed = now + cooldown;
	}
	Timer timer(&service->metrics.scan);
	bool ok = service->store.All(answer_max, &values);
	timer.Stop();
	service->metrics.scans++;
	if (!ok)
		return answer(500, text_type, "getallvalues fail");
	return answer(200, json_type,
	    join_values(values, service->options.bad_range));
}

namespace {

const struct Route {
	const char *method;
	size_t segments;
	const char *only;		/* the first segment, or NULL */
	Response (*handle)(Service *, const Request &, const Segments &);
} routes[] = {
	{ "POST", 1, "commit", handle_commit },
	{ "GET", 0, nullptr, handle_all },
	{ "GET", 1, nullptr, handle_get },
	{ "GET", 2, nullptr, handle_range },
};

/* False if path is not /v1/transactions or below it. */
bool
split_path(const std::string &path, Segments *segments)
{
	static const std::string prefix = "/v1/transactions";
	if (path.compare(0, prefix.size(), prefix) != 0)
		return false;
	size_t at = prefix.size();
	while (at < path.size() && path[at] == '/') {
		size_t end = path.find('/', at + 1);
		if (end == std::string::npos)
			end = path.size();
		segments->push_back(percent_decode(
		    std::string_view(path).substr(at + 1, end - at - 1)));
		at = end;
	}
	return at == path.size();
}

Response
route_kv(Service *service, const Request &request)
{
	Segments segments;
	if (request.method == "OPTIONS")
		return answer(204, "", "");
	if (!split_path(request.path, &segments))
		return answer(404, "", "");
	if (service->options.no_all && segments.empty())
		return answer(404, "", "");
	if (segments.size() == 1 && segments[0].empty())
		return answer(404, "", "");
	std::string method = request.method == "HEAD" ? "GET" : request.method;
	bool known = false;
	for (const Route &r : routes) {
		if (r.segments != segments.size() ||
		    (r.only != nullptr && segments[0] != r.only))
			continue;
		known = true;
		if (method == r.method)
			return r.handle(service, request, segments);
	}
	return answer(known ? 405 : 404, "", "");
}

} // namespace

Response
handle_kv(Service *service, const Request &request)
{
	service->metrics.requests++;
	Response response = route_kv(service, request);
	if (response.status >= 400)
		service->metrics.failures++;
	if (!response.hang)
		service->metrics.answers++;
	return response;
}

} // namespace kv
