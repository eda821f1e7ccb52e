/*
 * The server: a listening socket that all workers watch (EPOLLEXCLUSIVE), and
 * connections that each belong to one worker, the least loaded when they came.
 * A connection has one request at hand; what a client sends ahead waits in its
 * buffer, and in the kernel once that is full.
 */

#include "kvservice_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <system_error>
#include <unordered_map>

namespace kv {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t ahead_max = 256 << 10;	/* bytes read while one is parked */
constexpr size_t connections_max = 256;	/* a worker */

struct Connection {
	int fd = -1;
	uint64_t serial = 0;	/* tells users of one descriptor apart */
	std::string in, out;
	size_t out_at = 0;
	Request request;
	size_t head_size = 0;	/* 0: the head is not read yet */
	std::string parked;	/* the answer, until its delay is over */
	bool busy = false;	/* parked or hanging */
	bool closing = false;	/* once out is sent */
	bool refused = false;	/* what still comes is read and forgotten */
	bool eof = false;
	uint32_t watched = 0;
};

std::system_error
last_error(const char *what)
{
	return std::system_error(errno, std::generic_category(), what);
}

const char *
reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" }, { 201, "Created" }, { 204, "No Content" },
		{ 400, "Bad Request" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 413, "Payload Too Large" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};
	for (const auto &r : reasons)
		if (r.status == status)
			return r.reason;
	return "Unknown";
}

std::string
render_response(const Response &response, const Request &request)
{
	std::string out = "HTTP/1.1 " + std::to_string(response.status) + " " +
	    reason_of(response.status) + "\r\n";
	if (!response.type.empty())
		out += "Content-Type: " + response.type + "\r\n";
	if (response.status != 204)
		out += "Content-Length: " +
		    std::to_string(response.body.size()) + "\r\n";
	out += "Server: Crow/1.0\r\nAccess-Control-Allow-Origin: *\r\n";
	out += request.keep_alive ? "Connection: Keep-Alive\r\n\r\n" :
	    "Connection: close\r\n\r\n";
	if (request.method != "HEAD")
		out += response.body;
	return out;
}

int
listen_on(const std::string &addr, int port)
{
	int one = 1;
	struct sockaddr_in sin = {};
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	if (inet_pton(AF_INET, addr.c_str(), &sin.sin_addr) != 1) {
		errno = EINVAL;
		throw last_error(addr.c_str());
	}
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		throw last_error("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(fd, SOMAXCONN) == -1) {
		std::system_error error = last_error("bind");
		close(fd);
		throw error;
	}
	return fd;
}

int
port_of(int fd)
{
	struct sockaddr_in sin = {};
	socklen_t length = sizeof(sin);
	if (getsockname(fd, (struct sockaddr *)&sin, &length) == -1)
		throw last_error("getsockname");
	return ntohs(sin.sin_port);
}

} // namespace

class Worker {
public:
	explicit Worker(Server *server);
	~Worker();

	void Run(const std::string &name);
	/* From any thread. */
	void TakeOver(int fd);
	void Stop();

	size_t load() const { return load_; }

private:
	void Watch(int fd, uint32_t events, int op);
	int Timeout() const;
	void Accept();
	void TakeInbox();
	void Adopt(int fd);
	void Drop(Connection *c);
	void OnEvent(int fd, uint32_t events);
	void FireTimers();
	bool Receive(Connection *c);
	void Advance(Connection *c);
	bool NextRequest(Connection *c);
	void Serve(Connection *c);
	bool Send(Connection *c);
	void Refuse(Connection *c, int status);

	Server *server_;
	int epoll_fd_, event_fd_;
	std::atomic<bool> stop_{false};
	std::atomic<size_t> load_{0};	/* connections, inbox included */
	std::mutex inbox_mutex_;
	std::vector<int> inbox_;
	std::unordered_map<int, std::unique_ptr<Connection>> connections_;
	std::multimap<Clock::time_point, std::pair<int, uint64_t>> timers_;
	uint64_t serial_ = 0;
};

Worker::Worker(Server *server)
    : server_(server), epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
	if (epoll_fd_ == -1 || event_fd_ == -1)
		throw last_error("epoll");
	Watch(event_fd_, EPOLLIN, EPOLL_CTL_ADD);
	Watch(server->listen_fd_, EPOLLIN | EPOLLEXCLUSIVE, EPOLL_CTL_ADD);
}

Worker::~Worker()
{
	for (auto &entry : connections_)
		close(entry.first);
	for (int fd : inbox_)
		close(fd);
	close(event_fd_);
	close(epoll_fd_);
}

void
Worker::Watch(int fd, uint32_t events, int op)
{
	struct epoll_event event = {};
	event.events = events;
	event.data.fd = fd;
	if (epoll_ctl(epoll_fd_, op, fd, &event) == -1)
		throw last_error("epoll_ctl");
}

void
Worker::TakeOver(int fd)
{
	uint64_t one = 1;
	load_++;
	std::lock_guard<std::mutex> hold(inbox_mutex_);
	inbox_.push_back(fd);
	(void)!write(event_fd_, &one, sizeof(one));
}

void
Worker::Stop()
{
	uint64_t one = 1;
	stop_ = true;
	(void)!write(event_fd_, &one, sizeof(one));
}

int
Worker::Timeout() const
{
	if (timers_.empty())
		return -1;
	auto left = timers_.begin()->first - Clock::now();
	long ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
	return ms < 0 ? 0 : (int)ms;
}

void
Worker::Run(const std::string &name)
{
	struct epoll_event events[64];
	prctl(PR_SET_NAME, name.c_str());
	while (!stop_) {
		int n = epoll_wait(epoll_fd_, events, 64, Timeout());
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd == server_->listen_fd_)
				Accept();
			else if (fd == event_fd_)
				TakeInbox();
			else
				OnEvent(fd, events[i].events);
		}
		FireTimers();
	}
}

void
Worker::Accept()
{
	int fd = accept4(server_->listen_fd_, nullptr, nullptr,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd == -1) {
		/* Out of descriptors: try again, but do not spin. */
		if (errno == EMFILE || errno == ENFILE)
			usleep(10000);
		return;
	}
	Worker *worker = server_->LeastLoaded();
	if (worker->load() >= connections_max) {
		close(fd);
	} else if (worker != this) {
		worker->TakeOver(fd);
	} else {
		load_++;
		Adopt(fd);
	}
}

void
Worker::TakeInbox()
{
	uint64_t ignored;
	std::vector<int> fds;
	(void)!read(event_fd_, &ignored, sizeof(ignored));
	{
		std::lock_guard<std::mutex> hold(inbox_mutex_);
		fds.swap(inbox_);
	}
	for (int fd : fds)
		Adopt(fd);
}

void
Worker::Adopt(int fd)
{
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	auto c = std::make_unique<Connection>();
	c->fd = fd;
	c->serial = ++serial_;
	c->watched = EPOLLIN;
	connections_[fd] = std::move(c);
	Watch(fd, EPOLLIN, EPOLL_CTL_ADD);
}

void
Worker::Drop(Connection *c)
{
	int fd = c->fd;
	load_--;
	close(fd);
	connections_.erase(fd);
}

void
Worker::OnEvent(int fd, uint32_t events)
{
	auto it = connections_.find(fd);
	if (it == connections_.end())
		return;
	Connection *c = it->second.get();
	bool gone = c->busy && (events & (EPOLLHUP | EPOLLERR));
	if (gone || ((events & ~EPOLLOUT) && !Receive(c))) {
		Drop(c);
		return;
	}
	Advance(c);
}

void
Worker::FireTimers()
{
	while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
		auto [fd, serial] = timers_.begin()->second;
		timers_.erase(timers_.begin());
		auto it = connections_.find(fd);
		if (it == connections_.end() || it->second->serial != serial)
			continue;
		Connection *c = it->second.get();
		c->out += c->parked;
		c->parked.clear();
		c->busy = false;
		Advance(c);
	}
}

/* False if the connection is broken. */
bool
Worker::Receive(Connection *c)
{
	char buffer[16 << 10];
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), 0);
	if (n > 0 && !c->refused)
		c->in.append(buffer, n);
	else if (n == 0)
		c->eof = true;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	/* Nobody waits for what is parked: let it go. */
	return !(c->eof && c->busy);
}

/* Sends, serves what is whole, and sets what to watch; may drop c. */
void
Worker::Advance(Connection *c)
{
	do {
		if (!Send(c)) {
			Drop(c);
			return;
		}
	} while (c->out.empty() && !c->busy && !c->closing && NextRequest(c));
	/* To close with bytes unread would take the refusal back. */
	if (c->out.empty() && c->refused && !c->eof)
		shutdown(c->fd, SHUT_WR);
	else if (c->out.empty() && !c->busy && (c->closing || c->eof)) {
		Drop(c);
		return;
	}
	uint32_t want = c->out.empty() ? 0 : (uint32_t)EPOLLOUT;
	if (!c->eof && (!c->busy || c->in.size() < ahead_max) &&
	    c->out.empty())
		want |= EPOLLIN;
	if (want != c->watched)
		Watch(c->fd, want, EPOLL_CTL_MOD);
	c->watched = want;
}

/* True if a request was whole, and so is served or refused. */
bool
Worker::NextRequest(Connection *c)
{
	int status = 0;
	if (c->head_size == 0) {
		c->request = Request();
		c->head_size = parse_head(c->in, &c->request, &status);
		if (status != 0) {
			Refuse(c, status);
			return true;
		}
		if (c->head_size == 0)
			return false;
		if (c->request.expects_continue)
			c->out += "HTTP/1.1 100 Continue\r\n\r\n";
	}
	size_t whole = c->head_size + c->request.content_length;
	if (c->in.size() < whole)
		return !c->out.empty();
	c->request.body.assign(c->in, c->head_size, c->request.content_length);
	c->in.erase(0, whole);
	c->head_size = 0;
	Serve(c);
	return true;
}

void
Worker::Serve(Connection *c)
{
	Response response = server_->handler_(c->request);
	bool waits = response.hang || response.delay.count() > 0;
	if (waits && server_->block_) {
		server_->HoldThread(response);
		waits = response.hang;
	}
	c->closing = !c->request.keep_alive;
	if (!waits) {
		c->out += render_response(response, c->request);
		return;
	}
	c->busy = true;
	if (response.hang)
		return;
	c->parked = render_response(response, c->request);
	timers_.emplace(Clock::now() +
	    std::chrono::duration_cast<Clock::duration>(response.delay),
	    std::make_pair(c->fd, c->serial));
}

void
Worker::Refuse(Connection *c, int status)
{
	Response response;
	response.status = status;
	c->request.keep_alive = false;
	c->closing = c->refused = true;
	c->in.clear();
	c->out += render_response(response, c->request);
}

/* False if the connection is broken. */
bool
Worker::Send(Connection *c)
{
	while (c->out_at < c->out.size()) {
		ssize_t n = send(c->fd, c->out.data() + c->out_at,
		    c->out.size() - c->out_at, MSG_NOSIGNAL);
		if (n == -1)
			return errno == EAGAIN || errno == EINTR;
		c->out_at += n;
	}
	c->out.clear();
	c->out_at = 0;
	return true;
}

Server::Server(const std::string &name, const std::string &addr, int port,
    int workers, bool block, Handler handler)
    : handler_(std::move(handler)), block_(block)
{
	listen_fd_ = listen_on(addr, port);
	port_ = port_of(listen_fd_);
	for (int i = 0; i < workers; i++)
		workers_.push_back(std::make_unique<Worker>(this));
	for (int i = 0; i < workers; i++) {
		std::string own = workers == 1 ? name :
		    name + "-" + std::to_string(i);
		threads_.emplace_back(&Worker::Run, workers_[i].get(), own);
	}
}

Server::~Server()
{
	{
		std::lock_guard<std::mutex> hold(stop_mutex_);
		stopping_ = true;
	}
	stop_.notify_all();
	for (auto &worker : workers_)
		worker->Stop();
	for (auto &thread : threads_)
		thread.join();
	close(listen_fd_);
}

void
Server::HoldThread(const Response &response)
{
	std::unique_lock<std::mutex> hold(stop_mutex_);
	auto stopping = [this] { return stopping_; };
	if (response.hang)
		stop_.wait(hold, stopping);
	else
		stop_.wait_for(hold, response.delay, stopping);
}

Worker *
Server::LeastLoaded()
{
	Worker *best = workers_[0].get();
	for (auto &worker : workers_)
		if (worker->load() < best->load())
			best = worker.get();
	return best;
}

} // namespace kv
