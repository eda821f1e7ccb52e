/*
 * For programs whose Berkeley DB meets damage: its handle cannot be freed
 * wholly then.
 */
#ifndef TESTS_DAMAGE_LEAKS_H
#define TESTS_DAMAGE_LEAKS_H

#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

#endif
