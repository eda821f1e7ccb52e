/*
 * Java's flight recordings.  They are not read: whoever brings one hears what
 * makes a profile of it that is.
 */
#ifndef FCGI_FORMAT_JFR_H
#define FCGI_FORMAT_JFR_H

#include <stdbool.h>
#include <stddef.h>

struct err;

bool jfr_looks(const char *p, size_t n);

/* ERR_REQUEST 422, field "format". */
const struct err *jfr_refuse(void);

#endif
