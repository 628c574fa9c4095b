// Programs that read clocks, or wait, and print what happened. Each is a command of its own:
//
//     programs raw | deadlines | follow | torn | speed | spawn N PATH | kill N PATH | signals | first N [leaks] | full | undumpable |
//     slow | places | inside | page
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static int64_t in_nanoseconds(struct timespec time) { return time.tv_sec * SECOND + time.tv_nsec; }

static int64_t now(clockid_t clock) {
  struct timespec time = {0, 0};
  clock_gettime(clock, &time);
  return in_nanoseconds(time);
}

static void print(const char *name, int64_t value) { printf("%s %lld\n", name, (long long)value); }

static int64_t raw_now(clockid_t clock) {
  struct timespec time = {0, 0};
  return syscall(SYS_clock_gettime, clock, &time) == 0 ? in_nanoseconds(time) : -errno;
}

// Everything that tells the time, once: by the vDSO, then by raw system calls. One frozen instant for all, if it is frozen.
static int raw(void) {
  struct timeval old = {0, 0};
  struct timezone zone = {1, 1};
  print("realtime", now(CLOCK_REALTIME));
  print("coarse", now(CLOCK_REALTIME_COARSE));
  print("tai", now(CLOCK_TAI));
  print("alarm", now(CLOCK_REALTIME_ALARM));
  gettimeofday(&old, NULL);
  print("gettimeofday", old.tv_sec * SECOND + old.tv_usec * 1000);
  print("time", time(NULL) * SECOND);
  print("raw realtime", raw_now(CLOCK_REALTIME));
  print("raw coarse", raw_now(CLOCK_REALTIME_COARSE));
  print("raw tai", raw_now(CLOCK_TAI));
  syscall(SYS_gettimeofday, &old, &zone);
  print("raw gettimeofday", old.tv_sec * SECOND + old.tv_usec * 1000);
  print("raw zone", zone.tz_minuteswest + zone.tz_dsttime);
#ifdef SYS_time
  time_t seconds = 0;
  time_t result = syscall(SYS_time, &seconds);
  print("raw time", seconds * SECOND);
  print("raw time returned", result * SECOND);
#endif
  print("raw fault", syscall(SYS_clock_gettime, CLOCK_REALTIME, (void *)8) == -1 ? errno : 0);
  print("raw fault of null", syscall(SYS_clock_gettime, CLOCK_REALTIME, NULL) == -1 ? errno : 0);
  // What the library of the clock does to learn the real time.
  struct timespec real = {0, 0};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &real, 0, 0, 0, 0x64696f72L);
  print("real", in_nanoseconds(real));
  print("monotonic difference", now(CLOCK_MONOTONIC) - raw_now(CLOCK_MONOTONIC));
  print("boottime difference", now(CLOCK_BOOTTIME) - raw_now(CLOCK_BOOTTIME));
  print("unknown clock", clock_gettime(12345, &(struct timespec){0, 0}) == -1 ? errno : 0);
  return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t other_mutex;
static pthread_barrier_t held, done;

// Holds all locks, so that the main thread waits for them until its deadline.
static void *hold(void *unused) {
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&lock);
  mtx_lock(&other_mutex);
  pthread_barrier_wait(&held);
  pthread_barrier_wait(&done);
  return unused;
}

static struct timespec in(clockid_t clock, int64_t wait) {
  int64_t at = now(clock) + wait;
  return (struct timespec){at / SECOND, at % SECOND};
}

// Runs a wait for 0.1 seconds; prints its name, its result, and how long it took in microseconds.
#define WAIT(name, clock, call) \
  { \
    struct timespec at = in(clock, SECOND / 10); \
    int64_t start = now(CLOCK_MONOTONIC); \
    errno = 0; \
    long result = (call); \
    if (result == -1) result = errno; \
    printf("%s,%ld,%lld\n", name, result, (long long)(now(CLOCK_MONOTONIC) - start) / 1000); \
    fflush(stdout); \
  }

static long wait_for_timerfd(clockid_t clock, struct timespec at) {
  uint64_t count = 0;
  int timer = timerfd_create(clock, TFD_CLOEXEC);
  struct itimerspec time = {.it_value = at}, off = {.it_value = {0, 0}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &off, NULL);
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
  long length = read(timer, &count, sizeof count);
  close(timer);
  return length == sizeof count ? (long)count : -1;
}

static long wait_for_timer(clockid_t clock, struct timespec at) {
  timer_t timer;
  sigset_t set;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec time = {.it_value = at};
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  if (timer_create(clock, &event, &timer) != 0) return -1;
  timer_settime(timer, TIMER_ABSTIME, &time, NULL);
  int number = 0;
  sigwait(&set, &number);
  timer_delete(timer);
  return number == SIGUSR1;
}

static int deadlines(void) {
  pthread_t holder;
  mtx_init(&other_mutex, mtx_timed);
  pthread_barrier_init(&held, NULL, 2);
  pthread_barrier_init(&done, NULL, 2);
  pthread_create(&holder, NULL, hold, NULL);
  pthread_barrier_wait(&held);
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER, steady;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&steady, &attributes);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  cnd_t other_condition;
  mtx_t other_own;
  cnd_init(&other_condition);
  mtx_init(&other_own, mtx_plain);
  mtx_lock(&other_own);
  pthread_mutex_lock(&own);
  WAIT("pthread_cond_timedwait", CLOCK_REALTIME, pthread_cond_timedwait(&condition, &own, &at));
  WAIT("pthread_cond_timedwait monotonic", CLOCK_MONOTONIC, pthread_cond_timedwait(&steady, &own, &at));
  WAIT("pthread_cond_clockwait", CLOCK_REALTIME, pthread_cond_clockwait(&condition, &own, CLOCK_REALTIME, &at));
  WAIT("pthread_cond_clockwait monotonic", CLOCK_MONOTONIC, pthread_cond_clockwait(&condition, &own, CLOCK_MONOTONIC, &at));
  WAIT("cnd_timedwait", CLOCK_REALTIME, cnd_timedwait(&other_condition, &other_own, &at));
  WAIT("pthread_mutex_timedlock", CLOCK_REALTIME, pthread_mutex_timedlock(&mutex, &at));
  WAIT("pthread_mutex_clocklock", CLOCK_REALTIME, pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &at));
  WAIT("pthread_mutex_clocklock monotonic", CLOCK_MONOTONIC, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &at));
  WAIT("mtx_timedlock", CLOCK_REALTIME, mtx_timedlock(&other_mutex, &at));
  WAIT("pthread_rwlock_timedrdlock", CLOCK_REALTIME, pthread_rwlock_timedrdlock(&lock, &at));
  WAIT("pthread_rwlock_timedwrlock", CLOCK_REALTIME, pthread_rwlock_timedwrlock(&lock, &at));
  WAIT("pthread_rwlock_clockrdlock", CLOCK_REALTIME, pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &at));
  WAIT("pthread_rwlock_clockwrlock", CLOCK_REALTIME, pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &at));
  WAIT("pthread_timedjoin_np", CLOCK_REALTIME, pthread_timedjoin_np(holder, NULL, &at));
  WAIT("pthread_clockjoin_np", CLOCK_REALTIME, pthread_clockjoin_np(holder, NULL, CLOCK_REALTIME, &at));
  WAIT("sem_timedwait", CLOCK_REALTIME, sem_timedwait(&semaphore, &at));
  WAIT("sem_clockwait", CLOCK_REALTIME, sem_clockwait(&semaphore, CLOCK_REALTIME, &at));
  WAIT("sem_clockwait monotonic", CLOCK_MONOTONIC, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &at));
  WAIT("clock_nanosleep", CLOCK_REALTIME, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL));
  WAIT("clock_nanosleep monotonic", CLOCK_MONOTONIC, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL));
  WAIT("clock_nanosleep relative", CLOCK_REALTIME,
    (at = (struct timespec){0, SECOND / 10}, clock_nanosleep(CLOCK_REALTIME, 0, &at, NULL)));
  WAIT("timerfd_settime", CLOCK_REALTIME, wait_for_timerfd(CLOCK_REALTIME, at));
  WAIT("timerfd_settime monotonic", CLOCK_MONOTONIC, wait_for_timerfd(CLOCK_MONOTONIC, at));
  WAIT("timer_settime", CLOCK_REALTIME, wait_for_timer(CLOCK_REALTIME, at));
  WAIT("timer_settime monotonic", CLOCK_MONOTONIC, wait_for_timer(CLOCK_MONOTONIC, at));
  char name[64], message[64];
  snprintf(name, sizeof name, "/diorama-%d", getpid());
  struct mq_attr limits = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
  mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &limits);
  if (queue == (mqd_t)-1) {
    printf("mq_timedreceive,%d,0\nmq_timedsend,%d,0\n", errno, errno);
  } else {
    mq_unlink(name);
    WAIT("mq_timedreceive", CLOCK_REALTIME, mq_timedreceive(queue, message, sizeof message, NULL, &at));
    mq_send(queue, "x", 1, 0);
    WAIT("mq_timedsend", CLOCK_REALTIME, mq_timedsend(queue, "x", 1, 0, &at));
    mq_close(queue);
  }
  struct timespec invalid = {0, SECOND};
  printf("invalid,%d,0\n", sem_timedwait(&semaphore, &invalid) == -1 ? errno : 0);
  pthread_barrier_wait(&done);
  pthread_join(holder, NULL);
  return 0;
}

// Prints the time for each line that comes, from the main thread and from another one.
static void *print_time(void *unused) {
  printf("%lld ", (long long)now(CLOCK_REALTIME));
  return unused;
}

static int follow(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    pthread_t thread;
    pthread_create(&thread, NULL, print_time, NULL);
    pthread_join(thread, NULL);
    printf("%lld\n", (long long)now(CLOCK_REALTIME));
    fflush(stdout);
  }
  return 0;
}

// Reads a clock that is frozen at instants whose seconds are also their nanoseconds, on four threads, until the end of
// input.
static int stopped;

static void *read_torn(void *counts) {
  long *count = counts;
  while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    count[0]++;
    if (time.tv_sec != time.tv_nsec) count[1]++;
  }
  return NULL;
}

static int torn(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  static long counts[THREADS][8];
  long sum[2] = {0, 0};
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_torn, counts[i]);
  printf("running\n");
  fflush(stdout);
  while (getchar() != EOF) {}
  __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    sum[0] += counts[i][0];
    sum[1] += counts[i][1];
  }
  printf("%ld %ld\n", sum[0], sum[1]);
  return 0;
}

// Nanoseconds for a read of each clock: the best of many short rounds, since other programs run on this machine.
static int speed(void) {
  enum { READS = 1000, ROUNDS = 3000 };
  const struct {
    const char *name;
    clockid_t clock;
  } clocks[] = {{"realtime", CLOCK_REALTIME}, {"monotonic", CLOCK_MONOTONIC}};
  for (int i = 0; i < 2; i++) {
    int64_t best = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
      struct timespec time;
      int64_t start = now(CLOCK_MONOTONIC);
      for (int read = 0; read < READS; read++) clock_gettime(clocks[i].clock, &time);
      int64_t took = now(CLOCK_MONOTONIC) - start;
      if (took < best) best = took;
    }
    printf("%s %.2f\n", clocks[i].name, (double)best / READS);
  }
  return 0;
}

static int compare(const void *one, const void *other) {
  int64_t first = *(const int64_t *)one, second = *(const int64_t *)other;
  return (first > second) - (first < second);
}

// Runs a program many times, one after the other; prints how many failed, and the microseconds of each: of the fastest
// tenth, since other programs run on this machine.
static int spawn(int times, char *path) {
  char *words[] = {path, NULL}, *no_variables[] = {NULL};
  int failed = 0, status;
  int64_t *took = calloc((size_t)times, sizeof *took);
  for (int i = 0; i < times; i++) {
    pid_t child;
    int64_t start = now(CLOCK_MONOTONIC);
    if (posix_spawn(&child, path, NULL, NULL, words, no_variables) != 0) failed++;
    else if (waitpid(child, &status, 0) != child || status != 0) failed++;
    took[i] = now(CLOCK_MONOTONIC) - start;
  }
  qsort(took, (size_t)times, sizeof *took, compare);
  printf("%d %.1f\n", failed, (double)took[times / 10] / 1000);
  free(took);
  return 0;
}

// Kills programs while they start, each a little later than the one before; then runs one to its end. Prints how many were
// killed, and the exit status of the last.
static int kill_all(int times, char *path) {
  char *words[] = {path, NULL}, *no_variables[] = {NULL};
  int killed = 0, status = 1;
  for (int i = 0; i <= times; i++) {
    pid_t child;
    int64_t start = now(CLOCK_MONOTONIC);
    if (posix_spawn(&child, path, NULL, NULL, words, no_variables) != 0) return 1;
    while (now(CLOCK_MONOTONIC) - start < i * 2000) {}
    if (i < times) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
  }
  printf("%d %d\n", killed, status);
  return 0;
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int number) {
  (void)number;
  signals_seen++;
}

// Raw calls while signals arrive: each call must give the clock's time, or be repeated.
static int signals(void) {
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = count_signal, .sa_flags = SA_RESTART}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
  int64_t first = raw_now(CLOCK_REALTIME);
  int wrong = 0;
  while (signals_seen < 200) wrong += raw_now(CLOCK_REALTIME) != first;
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  print("wrong", wrong);
  return 0;
}

// A process whose first reads of the clock are those of one or four threads and a signal handler, concurrently. Returns how many
// were wrong or failed; each extra mapping of the page, and each of its descriptors if these are
// counted, is one more.
static int64_t first;
static int first_wrong;
static pthread_barrier_t first_start;

static void read_first(int number) {
  (void)number;
  struct timespec time = {0, 0};
  if (clock_gettime(CLOCK_REALTIME, &time) != 0 || in_nanoseconds(time) != first)
    __atomic_add_fetch(&first_wrong, 1, __ATOMIC_RELAXED);
}

static void *read_together(void *unused) {
  pthread_barrier_wait(&first_start);
  read_first(0);
  return unused;
}

static int read_at_once(int turn, bool counts_descriptors) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  int count = turn / 2 % 2 ? THREADS : 0;
  char line[512], path[64], target[64];
  int mapped = 0;
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = read_first, .sa_flags = turn % 2 ? SA_RESTART : 0}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 50}, {0, 50 + turn % 50}}, NULL);
  pthread_barrier_init(&first_start, NULL, THREADS);
  for (int i = 0; i < 20 && !count; i++) read_first(0);
  for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, read_together, NULL);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps && fgets(line, sizeof line, maps)) mapped += strstr(line, "diorama-clock") != NULL;
  if (maps) fclose(maps);
  // The supervisor has not closed the input.
  first_wrong += fcntl(0, F_GETFD) < 0;
  for (int i = 0; i < 64 && counts_descriptors; i++) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", i);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    first_wrong += strstr(target, "diorama-clock") != NULL;
  }
  return first_wrong + abs(mapped - 1);
}

// The first reads of many processes. A raw call tells the time, and leaves the first read to them.
static int read_first_times(int times, bool counts_descriptors) {
  int wrong = 0, status;
  first = raw_now(CLOCK_REALTIME);
  for (int i = 0; i < times; i++) {
    pid_t child = fork();
    if (child == 0) _exit(read_at_once(i, counts_descriptors) != 0);
    if (waitpid(child, &status, 0) != child || status != 0) wrong++;
  }
  print("wrong", wrong);
  return 0;
}

// Reads clocks where nothing more can be mapped.
static int full(void) {
  char room[BUFSIZ];
  setvbuf(stdout, room, _IOFBF, sizeof room);
  if (setrlimit(RLIMIT_AS, &(struct rlimit){0, 0}) != 0) return 1;
  print("realtime", now(CLOCK_REALTIME));
  print("again", now(CLOCK_REALTIME));
  print("tai", now(CLOCK_TAI));
  print("raw realtime", raw_now(CLOCK_REALTIME));
  // Also amid signals whose handlers do not restart calls.
  first = raw_now(CLOCK_REALTIME);
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = count_signal}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 150}, {0, 150}}, NULL);
  for (int i = 0; i < 2000; i++) read_first(0);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  print("wrong", first_wrong);
  fflush(stdout);
  return 0;
}

static void *read_often(void *unused) {
  for (int i = 0; i < 200; i++) read_first(0);
  return unused;
}

// Reads the clock for the first time when its memory cannot be read any more.
static int undumpable(void) {
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return 1;
  struct timeval old = {0, 0};
  int64_t shown = now(CLOCK_REALTIME);
  print("realtime", shown);
  print("again", now(CLOCK_REALTIME));
  print("tai", now(CLOCK_TAI));
  gettimeofday(&old, NULL);
  print("microseconds", old.tv_sec * INT64_C(1000000) + old.tv_usec);
  first = shown;
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = read_first}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 500}, {0, 500}}, NULL);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, read_often, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  print("wrong", first_wrong);
  return 0;
}

// Reads by several threads that cannot get the page.
static int slow(void) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  first = raw_now(CLOCK_REALTIME);
  if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}) != 0) return 1;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_often, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  print("wrong", first_wrong);
  return 0;
}

// Raw calls from each place in a page, since the vDSO's calls are recognized by theirs.
static int places(void) {
  int wrong = 0;
#if defined(__x86_64__)
  // mov $228, %eax; xor %r9d, %r9d; syscall; ret
  static const unsigned char code[] = {0xb8, 228, 0, 0, 0, 0x45, 0x31, 0xc9, 0x0f, 0x05, 0xc3};
  unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  first = raw_now(CLOCK_REALTIME);
  for (int place = 0; place < 4096; place++) {
    struct timespec time = {0, 0};
    memcpy(pages + place, code, sizeof code);
    int (*call)(clockid_t, struct timespec *) = (void *)(pages + place);
    wrong += call(CLOCK_REALTIME, &time) != 0 || in_nanoseconds(time) != first;
  }
#endif
  print("wrong", wrong);
  return 0;
}

// Makes a raw call from inside of the vDSO, as its own functions do where they cannot read the counter of the real clock.
static int inside(void) {
#if defined(__x86_64__)
  static const unsigned char code[] = {0xb8, 228, 0, 0, 0, 0x0f, 0x05, 0xc3};  // mov $228, %eax; syscall; ret
  char line[512];
  unsigned long start, end = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "[vdso]")) sscanf(line, "%lx-%lx", &start, &end);
  }
  fclose(maps);
  int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (pwrite(memory, code, sizeof code, (off_t)(end - 64)) != sizeof code) return 1;
  int (*call)(clockid_t, struct timespec *) = (void *)(end - 64);
  struct timespec time = {0, 0};
  if (call(CLOCK_REALTIME, &time) != 0) return 1;
  print("inside", in_nanoseconds(time));
#endif
  return 0;
}

// Tries to write to the clock's page.
static int page(void) {
  struct timespec where = {0, 0};
  if (clock_gettime(0x64696f72, &where) != 0) return 1;
  print("writable", mprotect((void *)where.tv_sec, 4096, PROT_READ | PROT_WRITE) == 0);
  return 0;
}

int main(int count, char **words) {
  const char *name = count > 1 ? words[1] : "";
  if (strcmp(name, "raw") == 0) return raw();
  if (strcmp(name, "deadlines") == 0) return deadlines();
  if (strcmp(name, "follow") == 0) return follow();
  if (strcmp(name, "torn") == 0) return torn();
  if (strcmp(name, "speed") == 0) return speed();
  if (strcmp(name, "spawn") == 0 && count > 3) return spawn(atoi(words[2]), words[3]);
  if (strcmp(name, "kill") == 0 && count > 3) return kill_all(atoi(words[2]), words[3]);
  if (strcmp(name, "signals") == 0) return signals();
  if (strcmp(name, "first") == 0 && count > 2) return read_first_times(atoi(words[2]), count == 3);
  if (strcmp(name, "full") == 0) return full();
  if (strcmp(name, "undumpable") == 0) return undumpable();
  if (strcmp(name, "slow") == 0) return slow();
  if (strcmp(name, "places") == 0) return places();
  if (strcmp(name, "inside") == 0) return inside();
  if (strcmp(name, "page") == 0) return page();
  fprintf(stderr, "programs: no such program: %s\n", name);
  return 2;
}
