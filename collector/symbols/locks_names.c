/*
 * One table; memlens.conf(5) lists it.  A name with a '*' at its end is a
 * beginning.
 */
#include "collector/symbols/locks_names.h"

#include <stddef.h>
#include <string.h>

static const struct lock_name {
	const char *name;
	enum lock_kind kind;
} lock_names[] = {
    /* the GNU C library and musl */
    {"__lll_lock_wait*", LOCK_MUTEX},
    {"pthread_mutex_lock", LOCK_MUTEX},
    {"pthread_mutex_timedlock", LOCK_MUTEX},
    {"pthread_mutex_clocklock*", LOCK_MUTEX},
    {"pthread_mutex_cond_lock", LOCK_MUTEX},
    {"pthread_mutex_lock_full*", LOCK_MUTEX}, /* inherits, robust, ... */
    {"pthread_mutex_cond_lock_full*", LOCK_MUTEX},
    {"pthread_rwlock_rdlock", LOCK_READER},
    {"pthread_rwlock_timedrdlock", LOCK_READER},
    {"pthread_rwlock_clockrdlock", LOCK_READER},
    {"pthread_rwlock_rdlock_full*", LOCK_READER},
    {"pthread_rwlock_wrlock", LOCK_WRITER},
    {"pthread_rwlock_timedwrlock", LOCK_WRITER},
    {"pthread_rwlock_clockwrlock", LOCK_WRITER},
    {"pthread_rwlock_wrlock_full*", LOCK_WRITER},
    {"sem_wait", LOCK_SEMAPHORE},
    {"sem_timedwait", LOCK_SEMAPHORE},
    {"sem_clockwait", LOCK_SEMAPHORE},
    {"new_sem_wait*", LOCK_SEMAPHORE},
    {"pthread_cond_wait", LOCK_CONDITION},
    {"pthread_cond_timedwait*", LOCK_TIMED},
    {"pthread_cond_clockwait*", LOCK_TIMED},
    {"pthread_cond_wait_common*", LOCK_CONDITION},
    {"pthread_mutex_unlock", LOCK_RELEASE},
    {"pthread_mutex_unlock_usercnt", LOCK_RELEASE},
    {"pthread_mutex_unlock_full*", LOCK_RELEASE},
    {"pthread_rwlock_unlock", LOCK_RELEASE},
    {"__lll_lock_wake*", LOCK_RELEASE},
    {"sem_post", LOCK_RELEASE},
    {"pthread_cond_signal", LOCK_RELEASE},
    {"pthread_cond_broadcast", LOCK_RELEASE},
    {"new_sem_post", LOCK_RELEASE},
    /* PostgreSQL, whose backends wait for a latch; InnoDB of MariaDB, for
     * a condition */
    {"ProcSleep", LOCK_DATABASE},
    {"ProcLockWakeup", LOCK_RELEASE}, /* jumps to ... */
    {"ProcWakeup", LOCK_RELEASE},     /* ... this, and that to SetLatch */
    {"lock_wait(que_thr_t*)", LOCK_DATABASE},
    {"lock_grant(ib_lock_t*)", LOCK_RELEASE},
    /* C++ */
    {"std::mutex::lock()", LOCK_MUTEX},
    {"std::__atomic_semaphore::_M_acquire*", LOCK_SEMAPHORE},
    {"void std::__atomic_wait_address_bare<std::__atomic_semaphore::*",
        LOCK_SEMAPHORE},
    {"bool std::__atomic_wait_address_until_bare<std::__atomic_semaphore::*",
        LOCK_SEMAPHORE},
    {"std::__atomic_semaphore::_M_release*", LOCK_RELEASE},
    /* Rust, in the older and the newer way of names */
    {"std::sys::sync::mutex::futex::Mutex::lock*", LOCK_MUTEX},
    {"std::sys::sync::rwlock::futex::RwLock::read*", LOCK_READER},
    {"std::sys::sync::rwlock::futex::RwLock::write*", LOCK_WRITER},
    {"std::sys::sync::mutex::futex::Mutex::wake*", LOCK_RELEASE},
    {"std::sys::sync::rwlock::futex::RwLock::wake*", LOCK_RELEASE},
    {"<std::sys::sync::mutex::futex::Mutex>::lock*", LOCK_MUTEX},
    {"<std::sys::sync::rwlock::futex::RwLock>::read*", LOCK_READER},
    {"<std::sys::sync::rwlock::futex::RwLock>::write*", LOCK_WRITER},
    {"<std::sys::sync::mutex::futex::Mutex>::wake*", LOCK_RELEASE},
    {"<std::sys::sync::rwlock::futex::RwLock>::wake*", LOCK_RELEASE},
    {"std::sys::sync::condvar::futex::Condvar::wait*", LOCK_CONDITION},
    {"<std::sys::sync::condvar::futex::Condvar>::wait*", LOCK_CONDITION},
    {"std::sys::unix::locks::futex_mutex::Mutex::lock*", LOCK_MUTEX},
    {"std::sys::unix::locks::futex_rwlock::RwLock::read*", LOCK_READER},
    {"std::sys::unix::locks::futex_rwlock::RwLock::write*", LOCK_WRITER},
    {"std::sys::unix::locks::futex_condvar::Condvar::wait*",
        LOCK_CONDITION},
    {"parking_lot::condvar::Condvar::wait*", LOCK_CONDITION},
    /* Go: what its own runtime waits for; goroutines wait in no futex.
     * Its notes are for threads that wait for work, and so are the semaphores
     * of the Java virtual machine and of node's inspector. */
    {"runtime.lock2", LOCK_MUTEX},
    {"runtime.unlock2", LOCK_RELEASE},
    {"runtime.notesleep", LOCK_WORK},
    {"runtime.notetsleep", LOCK_WORK},
    {"runtime.notetsleep_internal", LOCK_WORK},
    {"PosixSemaphore::wait()", LOCK_WORK},
    {"PosixSemaphore::timedwait*", LOCK_WORK},
    {"node::inspector::(anonymous namespace)::StartIoThreadMain*",
        LOCK_WORK},
};

/* Without the underscores of the library's own use, where the row has none. */
static const char *
lock_plain(const char *function, const char *row)
{
	while (*row != '_' && *function == '_')
		function++;
	return function;
}

static bool
lock_is(const char *function, const char *row)
{
	size_t n = strlen(row);

	function = lock_plain(function, row);
	if (row[n - 1] == '*')
		return strncmp(function, row, n - 1) == 0;
	return strncmp(function, row, n) == 0 &&
	    (function[n] == '\0' || function[n] == '@');
}

enum lock_kind
locks_kind_of(const char *function)
{
	for (size_t i = 0; i < sizeof(lock_names) / sizeof(lock_names[0]); i++)
		if (lock_is(function, lock_names[i].name))
			return lock_names[i].kind;
	return LOCK_NONE;
}

bool
locks_is_database(const char *function)
{
	for (size_t i = 0; i < sizeof(lock_names) / sizeof(lock_names[0]); i++)
		if (lock_names[i].kind == LOCK_DATABASE &&
		    lock_is(function, lock_names[i].name))
			return true;
	return false;
}

bool
locks_is_glibc_condition(const char *function)
{
	return lock_is(function, "pthread_cond_*");
}

bool
locks_is_glibc_rwlock(const char *function)
{
	return lock_is(function, "pthread_rwlock_*");
}
