#pragma once
// PCRE2, for regular expressions in rules. Its 8-bit functions read UTF-8.
#if !__has_include(<pcre2.h>)
#error "PCRE2 is missing. Debian, Ubuntu: apt-get install libpcre2-dev. Homebrew: brew install pcre2"
#endif
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
