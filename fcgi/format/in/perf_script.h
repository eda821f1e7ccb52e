/*
 * The text of `perf script`, samples with call chains:
 *
 *	kv worker 4711/4712 [001] 83.1: 10101010 cpu-clock:ppp:
 *	        ffffffff812a sys_read+0x1a ([kernel.kallsyms])
 *	            7f0c1234 __read+0x4e (/usr/lib/libc.so.6)
 *	            55d0aaaa DB::Get(int)+0x10 (/usr/bin/kv)
 *
 * becomes "kv_worker;DB::Get(int);__read;sys_read" 10101010, as stackcollapse
 * makes it but for whole names: blanks in the command become '_', offsets are
 * cut, ';' becomes ':', what has no symbol is called "[module]", and a->b is
 * a with b inlined.  In brief a function's own arguments and quotes are cut,
 * too (perf_script_frame.h), and "f(int)" and "f(long)" are one.  Samples
 * without chains have their frame behind the event.  Tasks that have ended,
 * which perf knows by number alone, are one command, "(exited)".  Each event
 * is a type of its own, called after it, and counts its period (nanoseconds
 * for the clocks), or samples where the text has none.  Kernel, JIT and
 * inlined frames are of that kind.
 */
#ifndef FCGI_FORMAT_PERF_SCRIPT_H
#define FCGI_FORMAT_PERF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct perf_script;
struct stacks;

/* Adds all of a text.  Lines that are neither are left out (stacks_skip).
 * Errors: ERR_REQUEST 422 with the first line's number when there is no
 * sample at all, those of stacks. */
const struct err *perf_script_parse(struct stacks *s, const void *data,
    size_t n);
const struct err *perf_script_parse_brief(struct stacks *s,
    const void *data, size_t n);

/* The same in pieces, as folded.h has it. */
struct perf_script *perf_script_new(struct stacks *s, bool brief);
size_t perf_script_feed(struct perf_script *p, const char *text, size_t n,
    bool last);
const struct err *perf_script_finish(struct perf_script *p); /* frees p */

/* Is the first line that is no comment one of an event? */
bool perf_script_looks(const char *p, size_t n);

#endif
