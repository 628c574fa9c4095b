#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What to write over the vDSO, which is the same for every 64-bit program of a kernel, but for its address.

enum { VDSO_ROOM = 16384 };

struct vdso {
  // The size of the original in whole pages; its image with our code, which differs between `start` and `end`.
  size_t size, start, end;
  unsigned char image[VDSO_ROOM];
  // Where our code is, and the function from which a jump leads there.
  size_t code, gettime;
};

/// Finds the functions in the vDSO of this process. Returns whether they can be replaced; if not, `error` has one line.
bool vdso_prepare(struct vdso *vdso, char *error);

/// Replaces getrandom, too, if the vDSO has one (Linux 6.11), by code that makes the system call.
bool vdso_prepare_random(struct vdso *vdso, char *error);

enum vdso_state { VDSO_ORIGINAL, VDSO_PATCHED, VDSO_UNKNOWN };

/// Whether a process, open in `memory`, has a vDSO at `base` that is as ours or has been patched.
enum vdso_state vdso_state(const struct vdso *vdso, int memory, uint64_t base);

/// Replaces the functions of a process. Writes nothing or everything.
bool vdso_patch(const struct vdso *vdso, int memory, uint64_t base);

/// Which system call of our code returns to an address: the one that asks for the page's descriptor, the one that gives the
/// page's address, the one that reads the time where there is no page, or another call.
enum vdso_call { VDSO_ASKS, VDSO_GIVES, VDSO_READS, VDSO_OTHER };

/// Sets `base` to where the vDSO would start; `vdso_state` tells whether it does.
enum vdso_call vdso_call(const struct vdso *vdso, uint64_t address, uint64_t *base);

enum vdso_page { VDSO_TAKEN, VDSO_HAS_ONE, VDSO_NOT_WRITTEN };

/// Tells our code where the page is, unless another thread has done so.
enum vdso_page vdso_take_page(const struct vdso *vdso, int memory, uint64_t base, uint64_t page);
