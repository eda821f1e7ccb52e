/*
 * The probe of ends (ends.bpf.c): with which status watched processes end.
 */
#ifndef COLLECTOR_ENDS_PROBE_H
#define COLLECTOR_ENDS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct ends_probe;
struct err;

/* Errors: ERR_BPF with the cause in words. */
const struct err *ends_probe_open(struct ends_probe **out);
void ends_probe_close(struct ends_probe *p); /* NULL is fine */

/* From now on; beyond ENDS_MAX nothing is known of its end. */
void ends_probe_watch(struct ends_probe *p, int32_t pid);

/* The status of waitpid() of one that has ended, which is watched no longer;
 * false: it is not known. */
bool ends_probe_take(struct ends_probe *p, int32_t pid, int *status);

#endif
