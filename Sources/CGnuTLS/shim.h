#pragma once
// What Swift cannot import as it is gets a static inline function here.
#if !__has_include(<gnutls/abstract.h>)
#error "GnuTLS is missing. Debian, Ubuntu: apt-get install libgnutls28-dev. Homebrew: brew install gnutls"
#endif
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

// gnutls_free is a variable that holds a function.
static inline void diorama_gnutls_free(void *memory) { gnutls_free(memory); }
