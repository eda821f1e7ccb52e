/*
 * What the daemon knows of wait_clock.bpf.h.
 */
#ifndef COLLECTOR_BPF_WAIT_CLOCK_H
#define COLLECTOR_BPF_WAIT_CLOCK_H

#define WAIT_NO_OFFSET (1LL << 62) /* none was measured */

#endif
