// Runs a program under the clock's supervisor, as the helper of `diorama run --isolate` does.
//
//     supervise CONTROL ANSWERS MODE SHOWN RATE COMMAND [ARGUMENT…]
//
// MODE is that of diorama_clock_mode, as a number; SHOWN is in nanoseconds. CONTROL and ANSWERS are descriptors of pipes:
// each line `MODE SHOWN RATE` that is read moves the clock, and is answered by a line with the real time of the move. The
// end of CONTROL is no reason to end. Exits like the command, when all processes have ended.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ClockSupervision.h"

static int fail(const char *line) {
  fprintf(stderr, "supervise: %s\n", line);
  return 70;
}

static void print_report(void *context, const char *line) {
  (void)context;
  fprintf(stderr, "report: %s\n", line);
}

static int64_t move(struct diorama_clock_page *page, int mode, long long shown, double rate) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t real = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
  diorama_clock_move(page, (enum diorama_clock_mode)mode, real, shown, rate);
  return real;
}

// Waits for children, including descendants that became children; keeps the exit status of the command.
static void reap(pid_t command, int *status, int options) {
  int ended;
  for (pid_t pid; (pid = waitpid(-1, &ended, options)) > 0;) {
    if (pid == command) *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
  }
}

static int open_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

int main(int count, char **words) {
  char error[DIORAMA_CLOCK_ERROR];
  if (count < 7) return fail("too few arguments");
  int control = atoi(words[1]), answers = atoi(words[2]), mode, status = 70;
  int page = diorama_clock_page_create(error);
  struct diorama_clock_page *clock = page < 0 ? NULL : diorama_clock_page_map(page, error);
  if (!clock) return fail(error);
  move(clock, atoi(words[3]), atoll(words[4]), atof(words[5]));
  struct diorama_clock_supervisor *supervisor = diorama_clock_supervisor_create(page, print_report, NULL, error);
  if (!supervisor) return fail(error);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t ends, before_block;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, &before_block);
  int ended = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return fail("socketpair");
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(control);
    close(answers);
    sigprocmask(SIG_SETMASK, &before_block, NULL);
    if (diorama_clock_enter(pair[1], DIORAMA_CLOCK, error) != 0) _exit(fail(error));
    execvp(words[6], words + 6);
    _exit(fail(strerror(errno)));
  }
  close(pair[1]);
  int listener = diorama_clock_receive_listener(pair[0], error);
  close(pair[0]);
  if (listener < 0) return fail(error);
  int before = open_descriptors();
  struct pollfd polled[] = {{listener, POLLIN, 0}, {control, POLLIN, 0}, {ended, POLLIN, 0}};
  for (;;) {
    if (poll(polled, 3, -1) < 0) return fail("poll");
    if (polled[2].revents) {
      struct signalfd_siginfo unused;
      while (read(ended, &unused, sizeof unused) > 0) {}
      reap(child, &status, WNOHANG);
    }
    if (polled[0].revents & POLLIN) diorama_clock_answer(supervisor, listener);
    else if (polled[0].revents) break;
    if (polled[1].revents & POLLIN) {
      char line[128];
      long long shown;
      double rate;
      ssize_t length = read(control, line, sizeof line - 1);
      if (length > 0) {
        line[length] = 0;
        if (sscanf(line, "%d %lld %lf", &mode, &shown, &rate) != 3) return fail("a broken line");
        dprintf(answers, "%lld\n", (long long)move(clock, mode, shown, rate));
        continue;
      }
    }
    if (polled[1].revents) polled[1].fd = -1;
  }
  reap(child, &status, 0);
  int more = open_descriptors() - before;
  if (more != 0) fprintf(stderr, "supervise: %d descriptors more than before\n", more);
  diorama_clock_supervisor_free(supervisor);
  munmap(clock, sizeof *clock);
  close(page);
  return status;
}
