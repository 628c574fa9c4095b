#pragma once
// Static inline functions for what Swift cannot import.
#if !__has_include(<uuid/uuid.h>)
#error "libuuid is missing. Debian, Ubuntu: apt-get install uuid-dev. macOS: part of Xcode's SDK"
#endif
#include <uuid/uuid.h>

// uuid_generate(3): fills `out` (16 bytes) with the version 5 UUID of `length` bytes at `name` in the name space `ns`
// (16 bytes); cannot fail. Wrapped because the toolchain's Glibc module includes <uuid/uuid.h> if present, and the
// function then does not belong to this module.
static inline void diorama_uuid_sha1(unsigned char *out, const unsigned char *ns, const void *name, size_t length) {
  uuid_generate_sha1(out, ns, (const char *)name, length);
}
