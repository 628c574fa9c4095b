#pragma once
// Static inline functions for what Swift cannot import.
#if !__has_include(<gnutls/abstract.h>)
#error "GnuTLS is missing. Debian, Ubuntu: apt-get install libgnutls28-dev. Homebrew: brew install gnutls"
#endif
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

// gnutls_free is a function pointer variable.
static inline void diorama_gnutls_free(void *memory) { gnutls_free(memory); }
