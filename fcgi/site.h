/*
 * What this worker serves: the only place that knows every page.
 */
#ifndef FCGI_SITE_H
#define FCGI_SITE_H

#include "fcgi/server/route.h"

extern const struct site site;

#endif
