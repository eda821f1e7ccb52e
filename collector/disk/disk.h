/*
 * The source of histograms: block requests, fsync and its like, and looking for
 * memory, each by service.  See disk.c.
 */
#ifndef COLLECTOR_DISK_H
#define COLLECTOR_DISK_H

#include "collector/base/source.h"

extern const struct source_ops source_disk;

#endif
