/*
 * One line a message, written with one write(2), so that lines of several
 * processes do not mix.
 */
#include "store/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/text.h"

static struct {
	const char *program;
	enum log_level level;
	int journal; /* stderr is the systemd journal */
} log_state = {"memlens", LOG_L_INFO, 0};

void
log_init(const char *program, enum log_level level)
{
	log_state.program = program;
	log_state.level = level;
	log_state.journal = getenv("JOURNAL_STREAM") != NULL;
}

static void
log_write(enum log_level level, const char *fmt, va_list ap)
{
	char line[1024];
	size_t n;

	if (level > log_state.level)
		return;
	if (log_state.journal)
		snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		snprintf(line, sizeof(line), "%s: ", log_state.program);
	n = strlen(line);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	text_clean(line + n);
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* there is nobody left to tell */
}

#define LOG_FUNCTION(name, level)                                              \
	void name(const char *fmt, ...)                                        \
	{                                                                      \
		va_list ap;                                                    \
		va_start(ap, fmt);                                             \
		log_write(level, fmt, ap);                                     \
		va_end(ap);                                                    \
	}

LOG_FUNCTION(log_err, LOG_L_ERR)
LOG_FUNCTION(log_warn, LOG_L_WARN)
LOG_FUNCTION(log_info, LOG_L_INFO)
LOG_FUNCTION(log_debug, LOG_L_DEBUG)
