#pragma once
#if defined(__linux__)
#include <stdint.h>
#include <time.h>

// The clock of an environment, in memory that the server writes and every program of the environment maps read-only.
//
// Layout, in the byte order of the machine:
//
//       0  sequence   bit 0: the record that is valid; the other one may be incomplete. Bits 1 and 2: its mode, so that one
//                     read is enough to know it. The other bits count the changes.
//       8  signature  DIORAMA_CLOCK_SIGNATURE
//      64  records[0]
//     128  records[1]
//
// A seqlock with two records, as the latch of the kernel's seqcount_latch_t: a reader takes the record that `sequence`
// names, and repeats if `sequence` has changed in the meantime. It never waits for the writer, so that a server that was
// killed while it wrote stops no program.

/// In every page, so that a wrong descriptor is noticed.
#define DIORAMA_CLOCK_SIGNATURE UINT64_C(0x336b636f6c636f64) // "doclock3"

/// As a clock id, asks a patched vDSO where the page is mapped: `clock_gettime(DIORAMA_CLOCK_MAGIC, …)` stores the address
/// in `tv_sec`. It fails with EINVAL in a program whose vDSO is not patched, and with EAGAIN in one that could not map the page.
/// As the sixth argument of a raw system call `clock_gettime`, asks for the real time.
#define DIORAMA_CLOCK_MAGIC 0x64696f72

enum diorama_clock_mode {
  /// The clock of the machine.
  DIORAMA_CLOCK_REAL = 0,
  /// Always shows `shown`.
  DIORAMA_CLOCK_FROZEN = 1,
  /// Runs as the real clock, with a constant difference to it. For ticking clocks, too.
  DIORAMA_CLOCK_OFFSET = 2,
  /// Runs `rate` times as fast as the real clock.
  DIORAMA_CLOCK_SCALED = 3,
};

/// The clock shows `shown + (now - real) * rate`. Instants are nanoseconds since 1970: from the year 1677 to 2262.
struct diorama_clock_record {
  /// One of `diorama_clock_mode`.
  uint64_t mode;
  /// The real time at which the clock shows `shown`.
  int64_t real;
  int64_t shown;
  /// Of a scaled clock: its nanoseconds for each real one, times 2^32.
  int64_t rate;
  /// `shown` if frozen or scaled, `shown - real` if offset: precomputed, so that a read needs no division. The nanoseconds are
  /// 0 to 999,999,999.
  int64_t seconds;
  int64_t nanoseconds;
  /// Of a scaled clock: its seconds for each real nanosecond, times 2^72, rounded down. Of any elapsed time, this gives the
  /// seconds, or one second less, or for a negative one, one more.
  int64_t second_rate;
  uint64_t unused;
};

struct diorama_clock_page {
  uint64_t sequence;
  uint64_t signature;
  uint64_t unused[6];
  struct diorama_clock_record records[2];
};

/// The current record.
static inline struct diorama_clock_record diorama_clock_read(const struct diorama_clock_page *page) {
  for (;;) {
    uint64_t sequence = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
    const struct diorama_clock_record *from = &page->records[sequence & 1];
    struct diorama_clock_record record = {
      .mode = __atomic_load_n(&from->mode, __ATOMIC_RELAXED),
      .real = __atomic_load_n(&from->real, __ATOMIC_RELAXED),
      .shown = __atomic_load_n(&from->shown, __ATOMIC_RELAXED),
      .rate = __atomic_load_n(&from->rate, __ATOMIC_RELAXED),
    };
    // An acquiring read-modify-write would need write access; a load after this fence is ordered as well.
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == sequence) return record;
  }
}

/// What the clock shows at a real instant. Both are nanoseconds since 1970.
static inline int64_t diorama_clock_shown(const struct diorama_clock_record *record, int64_t now) {
  switch (record->mode) {
    case DIORAMA_CLOCK_FROZEN: return record->shown;
    case DIORAMA_CLOCK_OFFSET: return record->shown + (now - record->real);
    case DIORAMA_CLOCK_SCALED: return record->shown + (int64_t)((__int128)(now - record->real) * record->rate >> 32);
    default: return now;
  }
}
#endif
