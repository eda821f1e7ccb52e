/*
 * Java's flight recordings: of the JVM itself, and of async-profiler, as
 * Pyroscope's agent for Java pushes them.
 *
 *	chunk  68 bytes of header, then events: size, type, fields
 *	         metadata     what classes of events and values there are
 *	         checkpoints  constants by class and number: names, methods,
 *	                      stacks; each says where the one before is
 *	         samples      refer to constants
 *
 * Nothing is known of the layout but what the metadata say: fields are found
 * by name, others passed over.  Which events are profiles, of which types:
 * the table in jfr_events.c.
 *
 *	jdk.ExecutionSample              cpu, of threads that do not sleep; of
 *	                                 a recording of event "wall" also wall
 *	profiler.WallClockSample         wall
 *	jdk.ObjectAllocationInNewTLAB    alloc_in_new_tlab_objects, _bytes
 *	jdk.ObjectAllocationOutsideTLAB  alloc_outside_tlab_objects, _bytes
 *	jdk.ObjectAllocationSample       alloc_sample_objects, _bytes
 *	jdk.JavaMonitorEnter             mutex_count, mutex_duration
 *	jdk.ThreadPark                   block_count, block_duration
 *	profiler.LiveObject              live
 *
 * A frame is "java/util/HashMap.get", one whether it was interpreted or
 * compiled; classes that the JVM generates lose their numbers.  Native code
 * has its library as module.  A stack that the recorder cut begins with
 * "[truncated]".
 */
#ifndef FCGI_FORMAT_JFR_H
#define FCGI_FORMAT_JFR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct stacks;

struct jfr_options {
	int64_t rate; /* of samples of time, Hz; 0: what the recording says */
	/* Pyroscope's LabelsSnapshot (jfr_labels.proto), not packed: the
	 * labels of the events by their contextId; NULL: none */
	const void *labels;
	size_t n_labels;
};

bool jfr_looks(const char *p, size_t n);

/*
 * Adds all chunks of a recording that is not packed.  Errors: ERR_REQUEST 422
 * with the byte offset of what is damaged, 413 for more constants or classes
 * than a recording has; ENOMEM; those of stacks.
 */
const struct err *jfr_parse_as(struct stacks *s, const void *data, size_t n,
    const struct jfr_options *o);
/* The same without labels: for the table of formats. */
const struct err *jfr_parse(struct stacks *s, const void *data, size_t n);

#endif
