#if defined(__linux__)
// Functions of glibc that wait until an instant of a realtime clock. The kernel compares that instant with the real clock,
// so it is converted here: a wait takes as long in real time as from what the clock shows now to the deadline. Durations and
// monotonic deadlines are passed on unchanged.
//
// Does nothing in a program whose vDSO is not patched, or which cannot map the clock's page. A clock that is moved while a
// program waits does not change the wait. A frozen clock shows no deadline: what waits again until the clock does, as Java's
// awaitUntil and wall timers of Dispatch, waits until the clock is moved. Not converted: deadlines of raw system calls (futex,
// io_uring). File times stay real, both those that are read and those that are set.
//
// No allocation, no locks, and no system calls but those that read the real clock and map the page, so each function is as
// safe in a signal handler and between fork and exec as the one that it calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "ClockPage.h"

#define SECOND INT64_C(1000000000)
// The largest number of seconds that nanoseconds can hold: later deadlines are never reached.
#define LATEST (INT64_MAX / SECOND - 1)

static const struct diorama_clock_page none = {.signature = 0};

// The page of this process. A program that is forked has the same one, and a program that is executed looks again.
static const struct diorama_clock_page *find_page(void) {
  static const struct diorama_clock_page *page;
  const struct diorama_clock_page *found = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
  if (found) return found;
  struct timespec where = {0, 0};
  int code = errno;
  int result = clock_gettime(DIORAMA_CLOCK_MAGIC, &where), problem = errno;
  if (result == 0 && where.tv_sec) found = (const void *)where.tv_sec;
  errno = code;
  // There is no page yet: it is asked for again with the next deadline.
  if (result != 0 && problem == EAGAIN) return &none;
  if (!found || found->signature != DIORAMA_CLOCK_SIGNATURE) found = &none;
  __atomic_store_n(&page, found, __ATOMIC_RELEASE);
  return found;
}

static int64_t in_nanoseconds(struct timespec time) { return time.tv_sec * SECOND + time.tv_nsec; }

// The filter lets this system call pass because of its last argument.
static int64_t real_time(void) {
  struct timespec now = {0, 0};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now, 0, 0, 0, (long)DIORAMA_CLOCK_MAGIC);
  return in_nanoseconds(now);
}

static bool is_realtime(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

// A deadline, for the kernel. `room` holds the result, if it is another one.
static const struct timespec *convert(const struct timespec *deadline, struct timespec *room) {
  const struct diorama_clock_page *page = find_page();
  // The original function rejects what is invalid.
  if (page == &none || !deadline || deadline->tv_nsec < 0 || deadline->tv_nsec >= SECOND) return deadline;
  if (deadline->tv_sec > LATEST || deadline->tv_sec < -LATEST) return deadline;
  struct diorama_clock_record record = diorama_clock_read(page);
  if (record.mode == DIORAMA_CLOCK_REAL) return deadline;
  int64_t now = real_time(), wait, real;
  if (__builtin_sub_overflow(in_nanoseconds(*deadline), diorama_clock_shown(&record, now), &wait)) return deadline;
  // Zero stops a timer, and negative seconds are invalid.
  if (__builtin_add_overflow(now, wait, &real)) return deadline;
  if (real < 1) real = 1;
  *room = (struct timespec){real / SECOND, real % SECOND};
  return room;
}

// As `convert`, where only the kernel or glibc knows the clock, which is realtime or monotonic: the one to whose time the
// deadline is closer.
static const struct timespec *convert_if_realtime(const struct timespec *deadline, struct timespec *room) {
  struct timespec monotonic, shown;
  if (!deadline || find_page() == &none || deadline->tv_sec > LATEST) return deadline;
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &shown);
  double since_monotonic = (double)deadline->tv_sec - (double)monotonic.tv_sec;
  double since_shown = (double)deadline->tv_sec - (double)shown.tv_sec;
  return __builtin_fabs(since_shown) < __builtin_fabs(since_monotonic) ? convert(deadline, room) : deadline;
}

// A function of glibc, in the version that programs are linked with today. Found before main(3), since dlsym(3) is not safe
// in a handler of a signal.
#define ORIGINAL(name) static __typeof__(&name) original_##name
#define FIND(name) \
  if (!__atomic_load_n(&original_##name, __ATOMIC_ACQUIRE)) \
    __atomic_store_n(&original_##name, (__typeof__(&name))dlsym(RTLD_NEXT, #name), __ATOMIC_RELEASE)

#define EACH(apply) \
  apply(pthread_cond_timedwait); apply(pthread_cond_clockwait); apply(pthread_mutex_timedlock); \
  apply(pthread_mutex_clocklock); apply(pthread_rwlock_timedrdlock); apply(pthread_rwlock_timedwrlock); \
  apply(pthread_rwlock_clockrdlock); apply(pthread_rwlock_clockwrlock); apply(pthread_timedjoin_np); \
  apply(pthread_clockjoin_np); apply(sem_timedwait); apply(sem_clockwait); apply(mq_timedreceive); apply(mq_timedsend); \
  apply(cnd_timedwait); apply(mtx_timedlock); apply(clock_nanosleep); apply(timerfd_settime); apply(timer_settime)

EACH(ORIGINAL);

__attribute__((constructor)) static void find_all(void) {
  EACH(FIND);
}

// Begins a function: `original` is what it calls, and `room` is for a converted deadline. glibc may lack a new function.
#define BEGIN(name, missing) \
  FIND(name); \
  __typeof__(&name) original = __atomic_load_n(&original_##name, __ATOMIC_ACQUIRE); \
  if (!original) return (missing); \
  struct timespec room

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
  BEGIN(pthread_cond_timedwait, ENOSYS);
  return original(condition, mutex, convert_if_realtime(deadline, &room));
}

int pthread_cond_clockwait(
  pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  BEGIN(pthread_cond_clockwait, ENOSYS);
  return original(condition, mutex, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
  BEGIN(pthread_mutex_timedlock, ENOSYS);
  return original(mutex, convert(deadline, &room));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  BEGIN(pthread_mutex_clocklock, ENOSYS);
  return original(mutex, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *deadline) {
  BEGIN(pthread_rwlock_timedrdlock, ENOSYS);
  return original(lock, convert(deadline, &room));
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *deadline) {
  BEGIN(pthread_rwlock_timedwrlock, ENOSYS);
  return original(lock, convert(deadline, &room));
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
  BEGIN(pthread_rwlock_clockrdlock, ENOSYS);
  return original(lock, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
  BEGIN(pthread_rwlock_clockwrlock, ENOSYS);
  return original(lock, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *deadline) {
  BEGIN(pthread_timedjoin_np, ENOSYS);
  return original(thread, result, convert(deadline, &room));
}

int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *deadline) {
  BEGIN(pthread_clockjoin_np, ENOSYS);
  return original(thread, result, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
  BEGIN(sem_timedwait, (errno = ENOSYS, -1));
  return original(semaphore, convert(deadline, &room));
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
  BEGIN(sem_clockwait, (errno = ENOSYS, -1));
  return original(semaphore, clock, is_realtime(clock) ? convert(deadline, &room) : deadline);
}

ssize_t mq_timedreceive(mqd_t queue, char *message, size_t size, unsigned *priority, const struct timespec *deadline) {
  BEGIN(mq_timedreceive, (errno = ENOSYS, -1));
  return original(queue, message, size, priority, convert(deadline, &room));
}

int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority, const struct timespec *deadline) {
  BEGIN(mq_timedsend, (errno = ENOSYS, -1));
  return original(queue, message, size, priority, convert(deadline, &room));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  BEGIN(cnd_timedwait, thrd_error);
  return original(condition, mutex, convert(deadline, &room));
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  BEGIN(mtx_timedlock, thrd_error);
  return original(mutex, convert(deadline, &room));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest) {
  BEGIN(clock_nanosleep, ENOSYS);
  return original(clock, flags, (flags & TIMER_ABSTIME) && is_realtime(clock) ? convert(time, &room) : time, rest);
}

// A zero stops the timer. The interval of a repeated timer is a duration.
static const struct itimerspec *convert_timer(
  bool is_absolute, const struct itimerspec *time, struct itimerspec *timer_room) {
  struct timespec room;
  if (!is_absolute || !time || (time->it_value.tv_sec == 0 && time->it_value.tv_nsec == 0)) return time;
  *timer_room = *time;
  timer_room->it_value = *convert_if_realtime(&time->it_value, &room);
  return timer_room;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *time, struct itimerspec *old) {
  struct itimerspec timer_room;
  BEGIN(timerfd_settime, (errno = ENOSYS, -1));
  (void)room;
  return original(timer, flags, convert_timer(flags & TFD_TIMER_ABSTIME, time, &timer_room), old);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *time, struct itimerspec *old) {
  struct itimerspec timer_room;
  BEGIN(timer_settime, (errno = ENOSYS, -1));
  (void)room;
  return original(timer, flags, convert_timer(flags & TIMER_ABSTIME, time, &timer_room), old);
}
#endif
