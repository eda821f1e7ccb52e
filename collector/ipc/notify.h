/*
 * Telling the service manager how we are: sd_notify(3)'s protocol, one
 * datagram to the socket that NOTIFY_SOCKET names.  Without one, nothing.
 */
#ifndef COLLECTOR_NOTIFY_H
#define COLLECTOR_NOTIFY_H

#include <stdint.h>

/* "READY=1", "STATUS=...", one or more lines. */
void notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How often the manager wants WATCHDOG=1, in ns: half of its limit; 0 when
 * it does not watch. */
int64_t notify_watchdog_ns(void);

#endif
