/*
 * The pure part of HTTP: heads of requests, percent-encoding.
 */

#include <strings.h>

#include <cstdlib>

#include "kvservice_http.h"

namespace kv {

namespace {

constexpr size_t head_max = 16 << 10;
constexpr size_t body_max = 8 << 20;

bool
equal_fold(std::string_view a, const char *b)
{
	std::string copy(a);
	return strcasecmp(copy.c_str(), b) == 0;
}

std::string_view
trim(std::string_view text)
{
	while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
		text.remove_prefix(1);
	while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
		text.remove_suffix(1);
	return text;
}

/* Returns 0 or the code of the refusal. */
int
read_header(std::string_view line, Request *req)
{
	size_t colon = line.find(':');
	if (colon == std::string_view::npos || colon == 0)
		return 400;
	std::string_view name = line.substr(0, colon);
	std::string value(trim(line.substr(colon + 1)));
	if (equal_fold(name, "content-length")) {
		if (value.empty() || value.size() > 12 ||
		    value.find_first_not_of("0123456789") != std::string::npos)
			return 400;
		req->content_length = std::strtoull(value.c_str(), nullptr, 10);
		if (req->content_length > body_max)
			return 413;
	} else if (equal_fold(name, "connection")) {
		if (equal_fold(value, "close"))
			req->keep_alive = false;
		else if (equal_fold(value, "keep-alive"))
			req->keep_alive = true;
	} else if (equal_fold(name, "expect")) {
		req->expects_continue = equal_fold(value, "100-continue");
	} else if (equal_fold(name, "transfer-encoding")) {
		return 501;
	}
	return 0;
}

int
read_request_line(std::string_view line, Request *req)
{
	size_t a = line.find(' '), b = line.rfind(' ');
	if (a == std::string_view::npos || a == 0 || b <= a + 1 ||
	    line[a + 1] != '/')
		return 400;
	std::string_view version = line.substr(b + 1);
	if (version != "HTTP/1.1" && version != "HTTP/1.0")
		return 505;
	req->method = line.substr(0, a);
	std::string_view target = line.substr(a + 1, b - a - 1);
	req->path = target.substr(0, target.find('?'));
	req->keep_alive = version == "HTTP/1.1";
	return 0;
}

int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

size_t
parse_head(std::string_view in, Request *req, int *status)
{
	size_t end = in.substr(0, head_max).find("\r\n\r\n");
	if (end == std::string_view::npos) {
		if (in.size() >= head_max)
			*status = 431;
		return 0;
	}
	std::string_view head = in.substr(0, end);
	size_t eol = head.find("\r\n");
	int refusal = read_request_line(head.substr(0, eol), req);
	while (refusal == 0 && eol != std::string_view::npos) {
		head.remove_prefix(eol + 2);
		eol = head.find("\r\n");
		refusal = read_header(head.substr(0, eol), req);
	}
	if (refusal != 0)
		*status = refusal;
	return end + 4;
}

std::string
percent_decode(std::string_view text)
{
	std::string out;
	for (size_t i = 0; i < text.size(); i++) {
		int high = -1, low = -1;
		if (text[i] == '%' && i + 2 < text.size()) {
			high = hex_digit(text[i + 1]);
			low = hex_digit(text[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			out.push_back((char)(high << 4 | low));
			i += 2;
		} else {
			out.push_back(text[i]);
		}
	}
	return out;
}

} // namespace kv
