#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "randomness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chacha20.h"

void random_stream(
  const unsigned char key[32], int purpose, uint64_t ordinal, uint64_t offset, void *bytes, size_t length) {
  unsigned char nonce[12] = {(unsigned char)purpose}, block[64];
  for (int i = 0; i < 8; i++) nonce[4 + i] = (unsigned char)(ordinal >> 8 * i);
  for (size_t done = 0; done < length; done += sizeof block) {
    chacha20_block(key, (uint32_t)((offset + done) / sizeof block), nonce, block);
    memcpy((unsigned char *)bytes + done, block, length - done < sizeof block ? length - done : sizeof block);
  }
}

// Makes a key from a seed of any length: XORs each 32 bytes into the key, then replaces the key by its own stream. Different
// seeds give different keys; this is not a hash function for secrets.
static void make_key(unsigned char key[32], const unsigned char *seed, size_t length) {
  memset(key, 0, 32);
  size_t done = 0;
  do {
    for (int i = 0; i < 32 && done < length; i++) key[i] ^= seed[done++];
    random_stream(key, OF_SEED, length, 0, key, 32);
  } while (done < length);
}

// The content of a file of /proc that is small. The result is its length; -1 if it cannot be read.
static ssize_t read_file(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, size - 1);
  close(file);
  text[length < 0 ? 0 : length] = 0;
  return length;
}

// A line of proc_pid_stat(5). For a thread it has the parent of its process, and the start of the thread itself.
struct stat_line {
  char state;
  pid_t parent, session;
  uint64_t start;
};

static bool read_stat(pid_t thread, struct stat_line *line) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", thread);
  if (read_file(path, text, sizeof text) <= 0) return false;
  // The name, in parentheses, may contain anything.
  const char *rest = strrchr(text, ')');
  return rest
    && sscanf(rest + 1, " %c %d %*s %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &line->state,
      &line->parent, &line->session, &line->start) == 4;
}

static bool is_ended(char state) { return state == 'Z' || state == 'X'; }

bool randomness_is_process(pid_t thread) { return syscall(SYS_tgkill, thread, thread, 0) == 0 || errno != ESRCH; }

// proc_pid_status(5).
pid_t randomness_process(pid_t thread) {
  char path[64], text[1024];
  if (randomness_is_process(thread)) return thread;
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  const char *line = read_file(path, text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
  return line ? (pid_t)strtol(line + 6, NULL, 10) : thread;
}

static bool has_ended(const struct process *process) {
  struct stat_line now;
  return !read_stat(process->pid, &now) || now.start != process->start || is_ended(now.state);
}

// Forgets processes that have ended, whenever the number of known ones has doubled.
static void forget_ended(struct randomness *randomness) {
  if (randomness->count < randomness->limit) return;
  size_t kept = 1;
  for (size_t i = 1; i < randomness->count; i++)
    if (!has_ended(&randomness->processes[i])) randomness->processes[kept++] = randomness->processes[i];
  randomness->count = kept;
  randomness->limit = kept < 256 ? 512 : kept * 2;
}

bool randomness_create(struct randomness *randomness, const void *seed, size_t length) {
  *randomness = (struct randomness){0};
  if (!(randomness->processes = calloc(64, sizeof *randomness->processes))) return false;
  randomness->room = 64;
  randomness->limit = 512;
  randomness->count = 1;
  randomness->processes[0].pid = getpid();
  make_key(randomness->processes[0].key, seed, length);
  return true;
}

void randomness_free(struct randomness *randomness) {
  free(randomness->processes);
  randomness->processes = NULL;
}

// The index of a process in the table, by its ID; 0 if it is not there.
static size_t find_by_id(const struct randomness *randomness, pid_t pid) {
  // The newest first: those that run are near the end.
  size_t i = randomness->count - 1;
  while (i > 0 && randomness->processes[i].pid != pid) i--;
  return i;
}

// The parent of an orphan, which the kernel has made our child: the leader of its session, if that has ended, as when a
// program becomes a daemon; otherwise the youngest older process that has ended. If several programs become daemons at the
// same time, this is a guess.
static size_t find_ended_parent(const struct randomness *randomness, pid_t child, pid_t session) {
  size_t leader = find_by_id(randomness, session), found = 0;
  if (leader && session != child && has_ended(&randomness->processes[leader])) return leader;
  for (size_t i = 1; i < randomness->count; i++) {
    const struct process *each = &randomness->processes[i];
    if (each->pid < child && (!found || randomness->processes[found].pid < each->pid) && has_ended(each)) found = i;
  }
  return found;
}

static struct process *add(struct randomness *randomness, size_t parent, pid_t pid, uint64_t start) {
  if (randomness->count == randomness->room) {
    struct process *moved = realloc(randomness->processes, 2 * randomness->room * sizeof *moved);
    if (!moved) return NULL;
    randomness->processes = moved;
    randomness->room *= 2;
  }
  struct process *creator = &randomness->processes[parent], *process = &randomness->processes[randomness->count++];
  *process = (struct process){.pid = pid, .start = start};
  random_stream(creator->key, OF_CHILD, creator->children++, 0, process->key, sizeof process->key);
  return process;
}

// Adds the children of a thread that are older than another child of its process, but have not made a call yet because the
// kernel ran the other one first. proc_tid_children(5) lists them in the order of their creation.
static void add_older_children(struct randomness *randomness, size_t parent, pid_t thread, pid_t child) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", randomness->processes[parent].pid, thread);
  FILE *list = fopen(path, "re");
  if (!list) return;
  for (int pid; fscanf(list, "%d", &pid) == 1 && pid != child;) {
    struct stat_line its;
    size_t known = find_by_id(randomness, pid);
    // A process that ended without a call is never seen, so it does not count.
    if (pid > child || !read_stat(pid, &its) || is_ended(its.state)) continue;
    if (!known || randomness->processes[known].start != its.start) add(randomness, parent, pid, its.start);
  }
  fclose(list);
}

struct process *randomness_find(struct randomness *randomness, pid_t thread) {
  char path[64];
  struct stat_line its;
  if (!read_stat(thread, &its)) return NULL;
  size_t known = find_by_id(randomness, thread);
  if (known && randomness->processes[known].start == its.start) return &randomness->processes[known];
  pid_t pid = randomness_process(thread);
  if (pid != thread) return randomness_find(randomness, pid);
  forget_ended(randomness);
  size_t parent = find_by_id(randomness, its.parent);
  if (parent) {
    snprintf(path, sizeof path, "/proc/%d/task", its.parent);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));)
      if (*entry->d_name != '.') add_older_children(randomness, parent, (pid_t)strtol(entry->d_name, NULL, 10), pid);
    if (threads) closedir(threads);
  } else if (its.parent == getpid()) {
    parent = find_ended_parent(randomness, pid, its.session);
  }
  return add(randomness, parent, pid, its.start);
}
#endif
