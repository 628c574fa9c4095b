#pragma once
// libpq: PostgreSQL's client library.
#if !__has_include(<libpq-fe.h>)
#error "libpq is missing. Debian, Ubuntu: apt-get install libpq-dev. Homebrew: brew install libpq"
#endif
#include <libpq-fe.h>

// A macro with a character, which Swift does not import: the field of an error that holds its SQLSTATE.
static const int diorama_sqlstate = PG_DIAG_SQLSTATE;
