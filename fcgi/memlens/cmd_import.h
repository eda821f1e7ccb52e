/*
 * The two halves of memlens import: where it goes (cmd_import.c), and
 * profiles of other tools as batches (cmd_import_foreign.c).
 */
#ifndef FCGI_CMD_IMPORT_H
#define FCGI_CMD_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/server/told.h"
#include "store/base/progress.h"
#include "store/model/series.h"

struct batch;
struct err;
struct batch_client;
struct store_writer;

/* Where an import goes: a store that nobody writes, or memlensd's socket. */
struct import {
	struct store_writer *writer;
	struct batch_client *post;
	uint64_t batches;
	struct told told;
	struct progress progress;
};

const struct err *import_batch(struct import *in, struct batch *b);
/* Without a daemon the data's clock counts, so that old spans are sealed as
 * they pass: `until` is the end of the newest slot, 0: there is none. */
const struct err *import_clock(struct import *in, uint64_t until,
    uint64_t slot_ns);

#define IMPORT_LABELS_MAX 16

struct import_foreign {
	const char *service;    /* NULL: files of batches */
	const char *format;     /* of the table in format/foreign.h, or NULL */
	const char *type, *unit; /* for formats that do not say, or NULL */
	const char *binary;     /* as struct heap_names */
	bool raw;               /* no names for heap dumps */
	struct label labels[IMPORT_LABELS_MAX];
	size_t n_labels;
	int64_t from_ns, until_ns; /* 0: by the file */
	int64_t slot_ns;
};

/* One file.  Errors: those of the parsers, of push.h and import_batch(). */
const struct err *import_foreign(struct import *in,
    const struct import_foreign *f, const char *path);

#endif
