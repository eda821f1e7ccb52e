/*
 * The script of flamesvg.h's pictures: plain text without "]]>".
 */
#ifndef FCGI_FORMAT_FLAMESVG_SCRIPT_H
#define FCGI_FORMAT_FLAMESVG_SCRIPT_H

extern const char flamesvg_script[];

#endif
