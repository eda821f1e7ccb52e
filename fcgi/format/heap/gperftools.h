/*
 * Heap profiles of gperftools and of what took its form: read into the same
 * memory as jemalloc's (heap.h), by heap_read() and heap_parse().
 *
 *	heap profile:  1246:  8800744 [ 1246: 8800744] @ heap_v2/524288
 *	     2:     8192 [     5:    20480] @ 0x40213f 0x402250
 *
 *	header ends in     what the numbers are
 *	heap_v2/R          samples, one each R bytes
 *	heap/R             samples, one each R / 2 bytes
 *	heapprofile        everything that was allocated, as it is
 *	growth...          the same, of memory taken from the system
 *	nothing            samples of 128 KB where both pairs are equal
 */
#ifndef FCGI_FORMAT_GPERFTOOLS_H
#define FCGI_FORMAT_GPERFTOOLS_H

struct err;
struct heap_line;
struct heap_reader;

/* The rest of the header line and all that follows; for heap.c.  Errors as
 * heap_read()'s. */
const struct err *gperftools_read(struct heap_reader *r,
    struct heap_line *header);

#endif
