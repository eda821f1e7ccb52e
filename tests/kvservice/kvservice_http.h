/*
 * HTTP/1.1 by hand: a parser of requests, and a server with a fixed pool of
 * named threads, each with an epoll loop of its own. No thread ever waits for
 * a client; an idle server makes no system call.
 */

#ifndef KVSERVICE_HTTP_H
#define KVSERVICE_HTTP_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kv {

struct Request {
	std::string method;
	std::string path;	/* still percent-encoded, no query */
	std::string body;
	size_t content_length = 0;
	bool keep_alive = true;
	bool expects_continue = false;
};

struct Response {
	int status = 200;
	std::string type;	/* Content-Type, "" is none */
	std::string body;
	std::chrono::nanoseconds delay{0};	/* answer that much later */
	bool hang = false;			/* never answer */
};

using Handler = std::function<Response(const Request &)>;

/*
 * Read a request's head from the front of *in. Returns its length with the
 * empty line, 0 if it is not whole yet; on mistakes *status gets the code of
 * the refusal, else it stays as it is.
 */
size_t parse_head(std::string_view in, Request *req, int *status);

/* %41 to A; anything that is not %XX stays. */
std::string percent_decode(std::string_view text);

class Worker;

class Server {
public:
	/*
	 * Listens on addr:port (0: a free port) and starts the threads,
	 * called name, or name-0, name-1, … if there are several. With block,
	 * a delayed or hanging answer holds its thread. Throws
	 * std::system_error.
	 */
	Server(const std::string &name, const std::string &addr, int port,
	    int workers, bool block, Handler handler);

	/* Finishes the requests at hand, joins the threads. */
	~Server();

	int port() const { return port_; }

private:
	friend class Worker;

	/* With block: wait, in this thread, for the delay or for the end. */
	void HoldThread(const Response &response);
	Worker *LeastLoaded();

	const Handler handler_;
	const bool block_;
	int port_ = 0;
	int listen_fd_ = -1;
	bool stopping_ = false;		/* under stop_mutex_ */
	std::mutex stop_mutex_;
	std::condition_variable stop_;
	std::vector<std::unique_ptr<Worker>> workers_;
	std::vector<std::thread> threads_;
};

} // namespace kv

#endif
