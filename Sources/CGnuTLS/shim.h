#pragma once
// Static inline functions for what Swift cannot import.
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

// gnutls_free is a function pointer variable.
static inline void diorama_gnutls_free(void *memory) { gnutls_free(memory); }
