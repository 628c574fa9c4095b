#pragma once
// What Swift cannot import as it is gets a static inline function here.
#if !__has_include(<uuid/uuid.h>)
#error "libuuid is missing. Debian, Ubuntu: apt-get install uuid-dev. macOS: part of Xcode's SDK"
#endif
#include <uuid/uuid.h>

// uuid_generate(3): fills `out` (16 bytes) with the version 5 UUID of `length` bytes at `name` in the name space
// `ns` (16 bytes); it cannot fail. Wrapped, because the toolchain's Glibc module takes <uuid/uuid.h> in as its own
// where it finds it, and the function then does not count as this module's.
static inline void diorama_uuid_sha1(unsigned char *out, const unsigned char *ns, const void *name, size_t length) {
  uuid_generate_sha1(out, ns, (const char *)name, length);
}
