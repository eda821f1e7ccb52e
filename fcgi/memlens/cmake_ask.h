/*
 * The question to which CMake's file API answers: an empty file of that name,
 * in the build folder, at its next run.
 */
#ifndef FCGI_CMAKE_ASK_H
#define FCGI_CMAKE_ASK_H

struct err;

/* Errors: ERR_REQUEST for what is no build folder of CMake, errno. */
const struct err *cmake_ask(const char *folder);

#endif
