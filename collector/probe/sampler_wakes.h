/*
 * The probe of wakers: loads its BPF program beside the sampler's and that of
 * waits, whose maps it uses.
 */
#ifndef COLLECTOR_SAMPLER_WAKES_H
#define COLLECTOR_SAMPLER_WAKES_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct err;
struct sampler_wakes;
struct waits_options;

/* Loads and attaches it as the type of that number; both objects are borrowed.
 * Errors: ERR_BPF with the cause in words. */
const struct err *sampler_wakes_open(struct sampler_wakes **out, size_t type,
    const struct waits_options *o, const struct bpf_object *maps,
    const struct bpf_object *waits);
void sampler_wakes_close(struct sampler_wakes *w); /* NULL is fine */

/* No more events. */
void sampler_wakes_stop(struct sampler_wakes *w);

void sampler_wakes_set_threshold(struct sampler_wakes *w, int64_t ns);

#endif
