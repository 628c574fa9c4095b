#if defined(__linux__)
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ClockSupervision.h"

#define SECOND INT64_C(1000000000)

int diorama_clock_page_create(char *error) {
  const char *call = "memfd_create";
  int page = memfd_create("diorama-clock", MFD_CLOEXEC);
  if (page >= 0) {
    struct diorama_clock_page content = {.signature = DIORAMA_CLOCK_SIGNATURE};
    call = "ftruncate";
    if (ftruncate(page, sysconf(_SC_PAGESIZE)) == 0) {
      call = "pwrite";
      if (pwrite(page, &content, sizeof content, 0) == sizeof content) return page;
    }
  }
  int code = errno;
  if (page >= 0) close(page);
  snprintf(error, DIORAMA_CLOCK_ERROR, "cannot make the page of the clock: %s: %s; free memory", call, strerror(code));
  return -1;
}

struct diorama_clock_page *diorama_clock_page_map(int page, char *error) {
  struct diorama_clock_page *mapped = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (mapped == MAP_FAILED) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot map the page of the clock: mmap: %s; pass the descriptor of a new page",
      strerror(errno));
    return NULL;
  }
  if (mapped->signature != DIORAMA_CLOCK_SIGNATURE) {
    munmap(mapped, sizeof *mapped);
    snprintf(error, DIORAMA_CLOCK_ERROR, "descriptor %d is not the page of a clock; pass the descriptor of one", page);
    return NULL;
  }
  return mapped;
}

static void store(struct diorama_clock_record *to, const struct diorama_clock_record *from) {
  __atomic_store_n(&to->mode, from->mode, __ATOMIC_RELAXED);
  __atomic_store_n(&to->real, from->real, __ATOMIC_RELAXED);
  __atomic_store_n(&to->shown, from->shown, __ATOMIC_RELAXED);
  __atomic_store_n(&to->rate, from->rate, __ATOMIC_RELAXED);
  __atomic_store_n(&to->seconds, from->seconds, __ATOMIC_RELAXED);
  __atomic_store_n(&to->nanoseconds, from->nanoseconds, __ATOMIC_RELAXED);
  __atomic_store_n(&to->second_rate, from->second_rate, __ATOMIC_RELAXED);
}

void diorama_clock_move(
  struct diorama_clock_page *page, enum diorama_clock_mode mode, int64_t real, int64_t shown, double rate) {
  struct diorama_clock_record record = {.mode = mode, .real = real, .shown = shown};
  if (mode == DIORAMA_CLOCK_SCALED) record.rate = (int64_t)(rate * 0x1p32 + 0.5);
  record.second_rate = (int64_t)(((__int128)record.rate << 40) / SECOND);
  int64_t added = mode == DIORAMA_CLOCK_REAL ? 0 : mode == DIORAMA_CLOCK_OFFSET ? shown - real : shown;
  record.seconds = added / SECOND;
  record.nanoseconds = added % SECOND;
  if (record.nanoseconds < 0) {
    record.seconds -= 1;
    record.nanoseconds += SECOND;
  }
  // Writes the record that is not in use, makes readers use it, then does the same with the other one.
  uint64_t changes = __atomic_load_n(&page->sequence, __ATOMIC_RELAXED) >> 3;
  for (int turn = 0; turn < 2; turn++) {
    changes += 1;
    uint64_t sequence = changes << 3 | (uint64_t)mode << 1 | (changes & 1);
    // A reader that still copies this record must notice the change of the sequence before it.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store(&page->records[sequence & 1], &record);
    __atomic_store_n(&page->sequence, sequence, __ATOMIC_RELEASE);
  }
}
#endif
