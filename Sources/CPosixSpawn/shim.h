#pragma once
// Functions that glibc declares only with _GNU_SOURCE, which a shim must not define (it breaks debug and sanitizer
// builds). No headers are included: this module would then own types of the C library used by other declarations.
#if defined(__linux__)
// pipe(2) with flags for both ends (O_CLOEXEC), set atomically, so a child of another thread does not inherit them.
extern int diorama_pipe2(int ends[2], int flags) __asm__("pipe2");

// accept(2) with flags for the new descriptor (SOCK_CLOEXEC, SOCK_NONBLOCK).
extern int diorama_accept4(int listener, void *address, void *length, int flags) __asm__("accept4");

extern int diorama_pidfd(int process, unsigned int flags) __asm__("pidfd_open") __attribute__((weak));

// pidfd_open(2): a descriptor that becomes readable when the process ends; -1 if the C library (before 2.36) lacks it.
static inline int diorama_pidfd_open(int process) { return diorama_pidfd ? diorama_pidfd(process, 0) : -1; }

extern int diorama_addtcsetpgrp(void *actions, int terminal) __asm__("posix_spawn_file_actions_addtcsetpgrp_np")
    __attribute__((weak));

// Makes the child's process group the terminal's foreground group before the program starts; has no effect if the C
// library (before 2.35) lacks it.
static inline int diorama_take_terminal(void *actions, int terminal) {
  return diorama_addtcsetpgrp ? diorama_addtcsetpgrp(actions, terminal) : 0;
}

extern int diorama_addclosefrom(void *actions, int from) __asm__("posix_spawn_file_actions_addclosefrom_np")
    __attribute__((weak));

// Closes all descriptors starting at `from` in the child; has no effect if the C library (before 2.34) lacks it.
static inline int diorama_close_from(void *actions, int from) {
  return diorama_addclosefrom ? diorama_addclosefrom(actions, from) : 0;
}

extern int diorama_sched_getaffinity(int thread, unsigned long size, void *mask) __asm__("sched_getaffinity");
extern int diorama_sched_setaffinity(int thread, unsigned long size, const void *mask) __asm__("sched_setaffinity");

// Binds the calling thread, and the programs that it starts, to one of the processors that it may use (sched(7)): the
// one at `index`, modulo their number. Returns that processor's number; -1 if the system refuses.
static inline int diorama_use_one_processor(unsigned int index) {
  enum { size = 1024, bits = 8 * sizeof(unsigned long) };
  unsigned long allowed[size / bits] = {0}, one[size / bits] = {0};
  if (diorama_sched_getaffinity(0, sizeof allowed, allowed) != 0) return -1;
  unsigned int count = 0;
  for (unsigned int number = 0; number < size; number++) count += allowed[number / bits] >> number % bits & 1;
  if (count == 0) return -1;
  unsigned int left = index % count;
  for (unsigned int number = 0; number < size; number++) {
    if (!(allowed[number / bits] >> number % bits & 1) || left-- > 0) continue;
    one[number / bits] = 1UL << number % bits;
    return diorama_sched_setaffinity(0, sizeof one, one) == 0 ? (int)number : -1;
  }
  return -1;
}
#endif
