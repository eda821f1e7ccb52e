/*
 * Those of libcurl's functions that http.c and http_place.c call, as the
 * library has them once it is loaded.
 */
#ifndef FCGI_HTTP_CURL_H
#define FCGI_HTTP_CURL_H

#include <curl/curl.h>

struct err;

/* curl_NAME; of easy_setopt() and its like the functions, not the macros */
#define HTTP_CURL_FUNCTIONS(of)                                                \
	of(global_init) of(easy_init) of(easy_cleanup) of(easy_strerror)       \
	of(easy_setopt) of(easy_getinfo) of(slist_append) of(slist_free_all)   \
	of(multi_init) of(multi_cleanup) of(multi_add_handle)                  \
	of(multi_remove_handle) of(multi_perform) of(multi_info_read)          \
	of(multi_poll) of(url) of(url_cleanup) of(url_get) of(url_set)

struct http_curl {
#define HTTP_CURL_MEMBER(name) __typeof__(&(curl_##name)) name;
	HTTP_CURL_FUNCTIONS(HTTP_CURL_MEMBER)
#undef HTTP_CURL_MEMBER
};

/* Loads it the first time.  Errors: ERR_CONFIG with the loader's words. */
const struct err *http_curl_load(const struct http_curl **out);

#endif
