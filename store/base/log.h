/*
 * Messages for the operator, on stderr: "program: message", or with a
 * "<priority>" prefix where stderr is the journal.  This is not for
 * libraries: they return errors.
 */
#ifndef STORE_BASE_LOG_H
#define STORE_BASE_LOG_H

struct err;

enum log_level {
	LOG_L_ERR = 3,
	LOG_L_WARN = 4,
	LOG_L_INFO = 6,
	LOG_L_DEBUG = 7
};

/* Sets the program's name (borrowed for ever) and the highest level shown. */
void log_init(const char *program, enum log_level level);

void log_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
