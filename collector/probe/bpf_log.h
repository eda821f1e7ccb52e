/*
 * What libbpf says goes to our log.
 */
#ifndef COLLECTOR_BPF_LOG_H
#define COLLECTOR_BPF_LOG_H

/* Before anything is loaded; again is fine. */
void bpf_log_begin(void);

#endif
