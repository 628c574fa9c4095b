// Calls the code that replaces functions of the vDSO, on memory of its own, with random clocks and real times; compares what
// it gives with the arithmetic of ClockPage.h. Prints how many comparisons there were, and how many differed.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "ClockSupervision.h"
#if defined(__x86_64__)
#include "code_x86_64.h"
static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp to the address that follows
#else
#include "code_arm64.h"
static const unsigned char jump[] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6};  // ldr x16, .+8; br x16; the address
#endif

#define SECOND INT64_C(1000000000)

static struct timespec real;
static int calls;

static int original(clockid_t clock, struct timespec *time) {
  calls++;
  // A real clock is read as it is, with any realtime clock.
  if (clock > CLOCK_TAI || clock == CLOCK_THREAD_CPUTIME_ID) return -22;
  *time = real;
  return 0;
}

static struct timespec in_timespec(int64_t time) {
  int64_t rest = time % SECOND;
  if (rest < 0) rest += SECOND;
  return (struct timespec){(time - rest) / SECOND, rest};
}

static int64_t draw(int64_t limit) {
  int64_t drawn = (int64_t)((uint64_t)random() << 32 ^ (uint64_t)random());
  return drawn % limit;
}

int main(void) {
  char error[DIORAMA_CLOCK_ERROR];
  struct diorama_clock_page *page = diorama_clock_page_map(diorama_clock_page_create(error), error);
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!page || code == MAP_FAILED) return 1;
  int (*function)(clockid_t, struct timespec *) = original;
  memcpy(code, clock_code, sizeof clock_code);
  memcpy(code + clock_page_offset, &page, sizeof page);
  code[clock_loaded_offset] = 1;
  memcpy(code + sizeof clock_code, jump, sizeof jump);
  memcpy(code + sizeof clock_code + sizeof jump, &function, sizeof function);
  __builtin___clear_cache((char *)code, (char *)code + 4096);
  int (*gettime)(clockid_t, struct timespec *) = (void *)(code + clock_gettime_offset);
  int (*timeofday)(struct timeval *, struct timezone *) = (void *)(code + clock_timeofday_offset);
#if defined(__x86_64__)
  time_t (*tell_time)(time_t *) = (void *)(code + clock_time_offset);
#endif
  long checked = 0, differed = 0;
  for (int turn = 0; turn < 200000; turn++) {
    enum diorama_clock_mode mode = (enum diorama_clock_mode)(turn % 4);
    // Within a century around 1970, and 30 years around the move at a rate of up to 3.
    int64_t moved = draw(INT64_C(3000000000)) * SECOND / 2, shown = draw(INT64_C(3000000000)) * SECOND / 2 + draw(SECOND);
    double rate = (double)draw(3000000) / 1000000;
    int64_t elapsed = draw(INT64_C(900000000)) * SECOND + draw(SECOND);
    // All rates that there are, within the same 30 years.
    if (turn % 8 == 7) {
      rate = 0.000001;
      for (int64_t tens = draw(13) & 15; tens > 0 && rate < 1000000; tens--) rate *= 10;
      if (rate > 1) elapsed = (int64_t)((double)elapsed / rate);
    }
    diorama_clock_move(page, mode, moved, shown, rate);
    int64_t now = moved + elapsed;
    real = in_timespec(now);
    struct diorama_clock_record record = diorama_clock_read(page);
    struct timespec wanted = in_timespec(diorama_clock_shown(&record, now)), seen = {0, 0};
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_REALTIME_ALARM, CLOCK_TAI};
    checked++;
    if (gettime(clocks[draw(4) & 3], &seen) != 0 || seen.tv_sec != wanted.tv_sec || seen.tv_nsec != wanted.tv_nsec) {
      if (differed++ == 0) {
        printf("mode %d rate %.6f: %lld.%09ld, not %lld.%09ld\n", mode, rate, (long long)seen.tv_sec, seen.tv_nsec,
          (long long)wanted.tv_sec, wanted.tv_nsec);
      }
    }
    struct timeval old = {0, 0};
    struct timezone zone = {1, 1};
    if (timeofday(&old, &zone) != 0 || old.tv_sec != wanted.tv_sec || old.tv_usec != wanted.tv_nsec / 1000) differed++;
    if (zone.tz_minuteswest != 0 || zone.tz_dsttime != 0 || timeofday(NULL, NULL) != 0) differed++;
#if defined(__x86_64__)
    time_t stored = 0;
    if (tell_time(&stored) != wanted.tv_sec || stored != wanted.tv_sec || tell_time(NULL) != wanted.tv_sec) differed++;
#endif
    if (gettime(CLOCK_MONOTONIC, &seen) != 0 || seen.tv_sec != real.tv_sec) differed++;
    if (gettime(CLOCK_THREAD_CPUTIME_ID, &seen) != -22) differed++;
    if (gettime(DIORAMA_CLOCK_MAGIC, &seen) != 0 || (void *)seen.tv_sec != (void *)page) differed++;
  }
  // A frozen clock needs no real time.
  diorama_clock_move(page, DIORAMA_CLOCK_FROZEN, 0, 1, 1);
  calls = 0;
  if (gettime(CLOCK_REALTIME, &real) != 0 || calls != 0) differed++;
  // Without a page and a supervisor, it calls the kernel.
  code[clock_loaded_offset] = 0;
  struct timespec told = {0, 0}, now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (gettime(CLOCK_REALTIME, &told) != 0 || told.tv_sec < now.tv_sec || told.tv_sec > now.tv_sec + 60) differed++;
  if (gettime(CLOCK_TAI, &told) != 0 || gettime(CLOCK_MONOTONIC, &told) != 0 || told.tv_sec != real.tv_sec) differed++;
  if (gettime(DIORAMA_CLOCK_MAGIC, &told) == 0) differed++;
  printf("%ld %ld\n", checked, differed);
  return differed != 0;
}
