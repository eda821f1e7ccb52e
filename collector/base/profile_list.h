/*
 * The types of profiles that the daemon takes by itself, each a line:
 *
 *	EACH(NAME, enabled, RATE, PERIOD, THRESHOLD, LIBRARY, ONLY or PART,
 *	    default, what of)
 *
 * PART: it is switched with the one above it, and has no section.
 *
 * NAME is its row in store/model/types.c, profile_NAME of
 * collector/profile/NAME.c, and its section of memlens.conf, which has the
 * keys "enabled" and "rate", "period", "threshold" or "library"; ONLY:
 * "enabled" alone.
 * The place in the list is the type's number in events and counters.
 */
#ifndef COLLECTOR_PROFILE_LIST_H
#define COLLECTOR_PROFILE_LIST_H

#define PROFILES(EACH) \
	EACH(cpu, "yes", RATE, "99Hz", "stacks of running threads") \
	EACH(offcpu, "no", THRESHOLD, "1ms", "threads that wait") \
	EACH(faults, "yes", PERIOD, "256", "memory that is touched") \
	EACH(lock, "no", ONLY, "", "waits for locks, and who holds those") \
	EACH(lock_waits, "", PART, "", "") \
	EACH(lock_holder, "", PART, "", "") \
	EACH(alloc_space, "yes", LIBRARY, "", "memory that programs ask for") \
	EACH(alloc_objects, "", PART, "", "") \
	EACH(short_space, "", PART, "", "") \
	EACH(inuse_space, "", PART, "", "") \
	EACH(inuse_objects, "", PART, "", "")

#define PROFILES_NUMBER(name, ...) PROFILE_##name,
enum { PROFILES(PROFILES_NUMBER) N_PROFILES };

#endif
