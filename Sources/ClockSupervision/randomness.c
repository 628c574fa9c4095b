#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "randomness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// A key for a seed of any length: each 32 bytes are added to the key, which is replaced by its own stream. This keeps seeds
// apart; it protects no secret.
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

// proc_pid_stat(5). Of a thread, it has the parent of the process, and the start of the thread.
static bool read_stat(pid_t thread, char *state, pid_t *parent, uint64_t *start) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", thread);
  if (read_file(path, text, sizeof text) <= 0) return false;
  // The name, in parentheses, may contain anything.
  const char *rest = strrchr(text, ')');
  return rest
    && sscanf(rest + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", state, parent, start)
    == 3;
}

// proc_pid_status(5).
static pid_t read_process(pid_t thread) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  const char *line = read_file(path, text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
  return line ? (pid_t)strtol(line + 6, NULL, 10) : thread;
}

// The last process ID that was used in our PID namespace: the last word of proc_loadavg(5).
static pid_t read_last_pid(void) {
  char text[128];
  const char *word = read_file("/proc/loadavg", text, sizeof text) > 0 ? strrchr(text, ' ') : NULL;
  return word ? (pid_t)strtol(word, NULL, 10) : -1;
}

// The newest child of a thread: the last one of proc_tid_children(5), which are in the order of their creation. 0 if none.
static pid_t read_newest_child(pid_t process, pid_t thread) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, thread);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  pid_t newest = 0, number = 0;
  for (ssize_t length; (length = read(file, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < length; i++) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = number * 10 + text[i] - '0';
      } else if (number) {
        newest = number;
        number = 0;
      }
    }
  }
  close(file);
  return newest;
}

static bool has_ended(const struct process *process) {
  char state;
  pid_t parent;
  uint64_t start;
  return !read_stat(process->pid, &state, &parent, &start) || start != process->start || state == 'Z' || state == 'X';
}

// Forgets processes that have ended, whenever the number of known ones has doubled.
static bool make_room(struct randomness *randomness) {
  if (randomness->count < randomness->room) return true;
  size_t kept = 1;
  for (size_t i = 1; i < randomness->count; i++)
    if (!has_ended(&randomness->processes[i])) randomness->processes[kept++] = randomness->processes[i];
  randomness->count = kept;
  size_t room = kept * 2 < 64 ? 64 : kept * 2;
  struct process *processes = realloc(randomness->processes, room * sizeof *processes);
  if (!processes) return kept < randomness->room;
  randomness->processes = processes;
  randomness->room = room;
  return true;
}

bool randomness_create(struct randomness *randomness, const void *seed, size_t length) {
  *randomness = (struct randomness){0};
  if (!(randomness->processes = calloc(64, sizeof *randomness->processes))) return false;
  randomness->room = 64;
  randomness->count = 1;
  randomness->processes[0].pid = getpid();
  make_key(randomness->processes[0].key, seed, length);
  return true;
}

void randomness_free(struct randomness *randomness) {
  free(randomness->processes);
  randomness->processes = NULL;
}

// The process that has created a child. If that has ended, the child has become ours: then the one that has ended since,
// after it had created a process that is not known yet; of several, the one that did so last before the child's ID was used.
static struct process *find_parent(struct randomness *randomness, pid_t child, pid_t parent) {
  struct process *found = &randomness->processes[0];
  for (size_t i = randomness->count - 1; i > 0; i--)
    if (randomness->processes[i].pid == parent) return &randomness->processes[i];
  for (size_t i = 1; i < randomness->count; i++) {
    struct process *each = &randomness->processes[i];
    bool is_earlier = each->has_unknown_child && each->last_pid < child;
    if (is_earlier && (found->pid == getpid() || found->last_pid < each->last_pid) && has_ended(each)) found = each;
  }
  return found;
}

struct process *randomness_find(struct randomness *randomness, pid_t thread) {
  char state;
  pid_t parent;
  uint64_t start;
  if (!read_stat(thread, &state, &parent, &start)) return NULL;
  // The newest first: those that run are near the end.
  for (size_t i = randomness->count - 1; i > 0; i--)
    if (randomness->processes[i].pid == thread && randomness->processes[i].start == start) return &randomness->processes[i];
  pid_t pid = read_process(thread);
  if (pid != thread) return randomness_find(randomness, pid);
  if (!make_room(randomness)) return NULL;
  struct process *creator = find_parent(randomness, pid, parent);
  if (!creator->has_unknown_child) creator->forks++;
  creator->has_unknown_child = false;
  struct process *process = &randomness->processes[randomness->count++];
  *process = (struct process){.pid = pid, .start = start};
  random_stream(creator->key, OF_CHILD, creator->forks, 0, process->key, sizeof process->key);
  return process;
}

void randomness_note_fork(struct randomness *randomness, pid_t thread) {
  struct process *process = randomness_find(randomness, thread);
  if (!process) return;
  pid_t last = read_last_pid();
  // Since its last call, no process was created: a signal has interrupted that call, and this is the same again.
  if (process->forks && process->creator == thread && process->last_pid == last) return;
  // Its last child, if it is still there, becomes known before the next one.
  if (process->has_unknown_child) {
    pid_t pid = process->pid, newest = read_newest_child(pid, process->creator);
    if (newest) randomness_find(randomness, newest);
    if (!(process = randomness_find(randomness, pid))) return;
  }
  process->forks++;
  process->has_unknown_child = true;
  process->creator = thread;
  process->last_pid = last;
}
#endif
