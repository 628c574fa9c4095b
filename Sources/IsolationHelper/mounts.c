// The mount namespace: private mounts, /proc of the PID namespace, and files bound over others.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

bool make_mount_namespace(struct isolation *isolation) {
  if (unshare(CLONE_NEWNS)) return failed(isolation, errno, "unshare(CLONE_NEWNS)");
  // mount_namespaces(7): mounts of a new namespace stay shared with the old one, so ours would appear outside.
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
    return failed(isolation, errno, "mount / (MS_REC|MS_PRIVATE)");
  return true;
}

bool mount_proc(struct isolation *isolation) {
  // pid_namespaces(7): a /proc that was mounted outside shows the process IDs of outside, so /proc/PID of a PID that a
  // program has from getpid(2) would be another process.
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
    return failed(isolation, errno, "mount /proc");
  return true;
}

bool bind_files(struct isolation *isolation) {
  struct request *request = &isolation->request;
  for (size_t each = 0; each < request->sources.count; each++) {
    const char *source = request->sources.items[each], *target = request->targets.items[each];
    // MS_REC: mount_namespaces(7) refuses, in a new user namespace, to uncover what an inherited mount below hides.
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL))
      return failed(isolation, errno, "mount %s over %s", source, target);
  }
  return true;
}

bool write_file(struct isolation *isolation, const char *path, const char *content) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return failed(isolation, errno, "open %s for writing", path);
  ssize_t written = write(file, content, strlen(content));
  int error = errno;
  close(file);
  return written == (ssize_t)strlen(content) || failed(isolation, error, "write '%s' to %s", content, path);
}
#endif
