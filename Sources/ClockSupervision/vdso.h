#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What to write over the vDSO, which is the same for every 64-bit program of a kernel, but for its address.

enum { PATCHES = 5, CODE_ROOM = 512 };

struct patch {
  size_t offset, length;
  unsigned char bytes[CODE_ROOM], original[CODE_ROOM];
};

struct vdso {
  // The code first, then jumps to it from the functions that it replaces.
  struct patch patches[PATCHES];
  size_t count;
  // Where the address of the page goes, in the bytes of the first patch.
  size_t page_offset;
};

/// Finds the functions in the vDSO of this process. Returns whether they can be replaced; if not, `error` has one line.
bool vdso_prepare(struct vdso *vdso, char *error);

/// Replaces getrandom, too, if the vDSO has one (Linux 6.11), by code that makes the system call.
bool vdso_prepare_random(struct vdso *vdso, char *error);

enum vdso_state { VDSO_ORIGINAL, VDSO_PATCHED, VDSO_UNKNOWN };

/// Whether a process, open in `memory`, has a vDSO at `base` that is as ours or has been patched.
enum vdso_state vdso_state(const struct vdso *vdso, int memory, uint64_t base);

/// Replaces the functions of a process that has the clock's page at `page`. Writes nothing or everything.
bool vdso_patch(const struct vdso *vdso, int memory, uint64_t base, uint64_t page);
