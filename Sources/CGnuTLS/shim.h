#pragma once
// What Swift cannot import as it is gets a static inline function here.
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

// gnutls_free is a variable that holds a function.
static inline void diorama_gnutls_free(void *memory) { gnutls_free(memory); }
