/*
 * The names of functions that wait for locks.
 */
#include "collector/bpf/wait_futex.h"
#include "collector/symbols/locks_names.h"
#include "collector/symbols/symbols_child.h"
#include "collector/symbols/symbols_wire.h"
#include "tests/unit/test.h"

TEST(functions_are_known_by_any_of_their_names)
{
	CHECK_INT(locks_kind_of("pthread_mutex_lock"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("__pthread_mutex_lock"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("___pthread_mutex_lock"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("pthread_mutex_lock@@GLIBC_2.2.5"),
	    LOCK_MUTEX);
	CHECK_INT(locks_kind_of("__lll_lock_wait_private"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("___pthread_rwlock_rdlock"), LOCK_READER);
	CHECK_INT(locks_kind_of("pthread_rwlock_wrlock"), LOCK_WRITER);
	CHECK_INT(locks_kind_of("__new_sem_wait_slow64.constprop.0"),
	    LOCK_SEMAPHORE);
	CHECK_INT(locks_kind_of("pthread_cond_wait@@GLIBC_2.3.2"),
	    LOCK_CONDITION);
	CHECK_INT(locks_kind_of("___pthread_cond_timedwait64"), LOCK_TIMED);
	CHECK_INT(locks_kind_of("pthread_cond_clockwait@@GLIBC_2.34"),
	    LOCK_TIMED);
	CHECK_INT(locks_kind_of("__pthread_mutex_clocklock_common"),
	    LOCK_MUTEX);
	CHECK_INT(locks_kind_of("__pthread_mutex_unlock_usercnt"),
	    LOCK_RELEASE);
	CHECK_INT(locks_kind_of("__pthread_mutex_lock_full"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("__pthread_mutex_cond_lock_full"), LOCK_MUTEX);
	CHECK_INT(locks_kind_of("__pthread_mutex_unlock_full"), LOCK_RELEASE);
}

/* As the symbols child makes them of a file's. */
TEST(names_of_other_languages)
{
	static const struct {
		const char *raw;
		enum lock_kind kind;
	} cases[] = {
	    {"_ZNSt5mutex4lockEv", LOCK_MUTEX},
	    {"_ZNSt5mutex6unlockEv", LOCK_NONE},
	    {"_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended"
	     "17h0123456789abcdefE", LOCK_MUTEX},
	    {"_RNvMNtNtNtNtCs1234_3std3sys4sync5mutex5futexNtB2_5Mutex"
	     "14lock_contended", LOCK_MUTEX},
	    {"_ZN3std3sys4sync6rwlock5futex6RwLock14read_contended"
	     "17h0123456789abcdefE", LOCK_READER},
	    {"_ZN3std3sys4sync6rwlock5futex6RwLock15write_contended"
	     "17h0123456789abcdefE", LOCK_WRITER},
	    {"_ZN3std3sys4sync5mutex5futex5Mutex4wake"
	     "17h0123456789abcdefE", LOCK_RELEASE},
	    {"_Z9lock_waitP9que_thr_t", LOCK_DATABASE},
	    {"ProcSleep", LOCK_DATABASE},
	    {"ProcLockWakeup", LOCK_RELEASE},
	    {"runtime.lock2", LOCK_MUTEX},
	    {"runtime.unlock2", LOCK_RELEASE},
	    {"runtime.futexsleep", LOCK_NONE},
	    {"runtime.notesleep", LOCK_WORK},
	    {"runtime.notetsleep_internal", LOCK_WORK},
	    {"runtime.notetsleepg", LOCK_NONE},
	    {"_ZN14PosixSemaphore4waitEv", LOCK_WORK},
	    {"_ZN14PosixSemaphore6signalEj", LOCK_NONE},
	    {"_ZSt26__atomic_wait_address_bareIZNSt18__atomic_semaphore"
	     "10_M_acquireEvEUlvE_EvPKiT_", LOCK_SEMAPHORE},
	    {"_ZNSt18__atomic_semaphore10_M_acquireEv", LOCK_SEMAPHORE},
	    {"_ZNSt18__atomic_semaphore10_M_releaseEl", LOCK_RELEASE},
	    {"_ZNSt8__detail15__platform_waitIiEEvPKT_i", LOCK_NONE},
	    {"_ZN3std3sys4sync7condvar5futex7Condvar4wait"
	     "17h0123456789abcdefE", LOCK_CONDITION},
	};
	char name[WIRE_NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		symbols_child_name(cases[i].raw, name, sizeof(name));
		CHECK_INT(locks_kind_of(name), cases[i].kind);
	}
}

TEST(others_are_none)
{
	CHECK_INT(locks_kind_of(""), LOCK_NONE);
	CHECK_INT(locks_kind_of("_"), LOCK_NONE);
	CHECK_INT(locks_kind_of("my_pthread_mutex_lock"), LOCK_NONE);
	CHECK_INT(locks_kind_of("pthread_mutex_locks"), LOCK_NONE);
	CHECK_INT(locks_kind_of("pthread_join"), LOCK_NONE);
	CHECK_INT(locks_kind_of("lll_lock_wait"), LOCK_NONE);
	CHECK(locks_is_glibc_rwlock("__pthread_rwlock_wrlock"));
	CHECK(!locks_is_glibc_rwlock("pthread_mutex_lock"));
}

/* A waker calls the futex at the address of the wait, in its memory; what a
 * timer or a signal ends has none. */
TEST(wakers_are_told_from_passers_by)
{
	enum { WAIT = 128, WAKE = 129, BITSET = 137, REQUEUE = 131 };

	CHECK(futex_wakes(WAKE, 0x1000, WAIT, 0x1000, 1));
	CHECK(futex_wakes(WAKE, 0x1000, BITSET, 0x1000, 1));
	CHECK(!futex_wakes(WAKE, 0x1000, WAIT, 0x1000, 0));
	CHECK(!futex_wakes(WAKE, 0x1000, WAIT, 0x1040, 1));
	CHECK(!futex_wakes(WAIT, 0x1000, WAIT, 0x1000, 1));
	CHECK(!futex_wakes(WAKE, 0x1000, WAKE, 0x1000, 1));
	CHECK(futex_wakes(REQUEUE, 0x2000, WAIT, 0x1000, 1));
	CHECK(!futex_wakes(REQUEUE, 0x2000, WAIT, 0x1000, 0));
}

/* Memory that is shared has an address of its own in each process, but a futex
 * in it one place in its page. */
TEST(wakers_in_shared_memory)
{
	enum { WAIT = 0, WAKE = 1, BITSET = 9, WAKE_PRIVATE = 129,
		BITSET_PRIVATE = 137 };

	CHECK(futex_wakes(WAKE, 0x7040, WAIT, 0x1040, 0));
	CHECK(futex_wakes(WAKE, 0x7040, BITSET, 0x7040, 1));
	CHECK(!futex_wakes(WAKE, 0x7040, BITSET, 0x7000, 0));
	CHECK(!futex_wakes(WAKE, 0x7040, BITSET, 0x1040, 1));
	CHECK(!futex_wakes(WAKE, 0x7040, BITSET_PRIVATE, 0x7040, 0));
	CHECK(!futex_wakes(WAKE, 0x7040, BITSET_PRIVATE, 0x7040, 1));
	CHECK(!futex_wakes(WAKE_PRIVATE, 0x7040, WAIT, 0x7040, 1));
}

/* By where the stack is: below the registers on the task's own, or not. */
TEST(interrupts_are_no_wakers)
{
	const uint64_t registers = 0xffffc90000103f58;

	CHECK(!futex_is_interrupted(registers, registers - 0x200));
	CHECK(!futex_is_interrupted(registers, registers - 0x3000));
	CHECK(futex_is_interrupted(registers, registers - 0x5000));
	CHECK(futex_is_interrupted(registers, registers + 0x5000));
	CHECK(futex_is_interrupted(registers, 0xfffffe0000008f00));
}

int
main(void)
{
	RUN(functions_are_known_by_any_of_their_names);
	RUN(names_of_other_languages);
	RUN(others_are_none);
	RUN(wakers_are_told_from_passers_by);
	RUN(wakers_in_shared_memory);
	RUN(interrupts_are_no_wakers);
	return test_done();
}
