#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Random bytes for each process. They depend on a seed and on the place of the process in the process tree: it is the n-th
// child of its parent. They do not depend on process IDs or on time.

/// What a stream of random bytes is for. Streams of different purposes or ordinals have nothing in common.
/// Others are those of diorama_random_purpose.
enum purpose { OF_CALL = 0, OF_CHILD = 1, OF_SEED = 2 };

struct process {
  pid_t pid;
  // When it was started, in clock ticks since boot: together with the ID, unique.
  uint64_t start;
  unsigned char key[32];
  // How many random values it was given, and how many of its children are known.
  uint64_t calls, children;
};

struct randomness {
  // The first one is the supervisor itself, from whose key all others derive.
  struct process *processes;
  size_t count, room, limit;
};

/// Returns false if there is no memory.
bool randomness_create(struct randomness *randomness, const void *seed, size_t length);
void randomness_free(struct randomness *randomness);

/// Bytes of a stream, from an offset that is a multiple of 64.
void random_stream(
  const unsigned char key[32], int purpose, uint64_t ordinal, uint64_t offset, void *bytes, size_t length);

/// Whether a thread is the first one of its process.
bool randomness_is_process(pid_t thread);

/// The process of a thread.
pid_t randomness_process(pid_t thread);

/// The process of a thread. A process gets its place when this is called for it, or for a younger child of its parent, so
/// call it for each new process. NULL if the process has ended, or there is no memory. Valid until the next call.
struct process *randomness_find(struct randomness *randomness, pid_t thread);
