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

/*
 * Takes the text behind the address apart.  Fills chain[] with frames, the
 * innermost first, and returns how many: 0 for a symbol in brackets, which
 * is none; -1 where the text is no frame.
 *
 * Of a name only a function's own arguments at its end are cut, and what may
 * stand behind those.  Brackets elsewhere tell functions apart, and a JIT's
 * names are whole.
 */
int perf_script_frame(struct stacks *s, const char *p, const char *end,
    bool java, uint32_t chain[PERF_CHAIN_MAX]);

#endif
