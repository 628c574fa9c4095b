// The processes of a command without a PID namespace, whose end would kill them.
#include "helper.h"
#if defined(__linux__)
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void adopt_orphans(void) { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

// Kills the children of this process: proc_pid_stat(5). The result is their number; -1 without /proc.
static int kill_children(void) {
  DIR *folder = opendir("/proc");
  if (!folder) return -1;
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[300], text[512] = {0};
    if (!isdigit((unsigned char)*entry->d_name)) continue;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    // The name, in parentheses, may contain anything.
    const char *rest = length ? strrchr(text, ')') : NULL;
    int parent;
    if (!rest || sscanf(rest + 1, " %*c %d", &parent) != 1 || parent != getpid()) continue;
    kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    count++;
  }
  closedir(folder);
  return count;
}

void end_descendants(void) {
  // The children of a child that has ended become children of this process, which then are killed, too.
  int count = 0;
  while (waitpid(-1, NULL, count ? 0 : WNOHANG) >= 0 || errno != ECHILD)
    if ((count = kill_children()) < 0) return;
}
#endif
