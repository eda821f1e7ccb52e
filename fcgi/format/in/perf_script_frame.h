/*
 * A frame of `perf script`: from "DB::Get(int)+0x10 (/usr/bin/kv)" to
 * frames of stacks.
 */
#ifndef FCGI_FORMAT_PERF_SCRIPT_FRAME_H
#define FCGI_FORMAT_PERF_SCRIPT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stacks;

#define PERF_CHAIN_MAX 64 /* functions inlined into one another */

struct perf_names {
	bool brief; /* without arguments */
	bool java;  /* "Ljava/util/Map" loses its L */
};

/*
 * Takes the text behind the address apart.  Fills chain[] with frames, the
 * innermost first, and returns how many: 0 for a symbol in brackets, which
 * is none; -1 where the text is no frame.
 *
 * Names are whole: "f(int)" and "f(long)" are two functions.  In brief a
 * function's own arguments at its end are cut, what may stand behind those,
 * and quotes.  Brackets elsewhere tell functions apart, and a JIT's names are
 * not cut.
 */
int perf_script_frame(struct stacks *s, const char *p, const char *end,
    const struct perf_names *how, uint32_t chain[PERF_CHAIN_MAX]);

#endif
