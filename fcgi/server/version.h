/*
 * What this build calls itself.
 */
#ifndef FCGI_VERSION_H
#define FCGI_VERSION_H

#ifndef MEMLENS_VERSION
#define MEMLENS_VERSION "0.1.0"
#endif

#endif
