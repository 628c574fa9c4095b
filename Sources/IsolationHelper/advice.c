// What would make a failed step work. The causes are known from the manual pages, and from the defaults of
// distributions and container engines.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The number in a file of /proc/sys; -1 if there is none.
static long setting(const char *path) {
  char text[32] = {0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? strtol(text, NULL, 10) : -1;
}

// Whether a seccomp filter is installed (proc_pid_status(5)), as container engines do.
static bool is_filtered(void) {
  char text[4096] = {0};
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 && strstr(text, "\nSeccomp:\t2");
}

// Ubuntu's restriction: a user namespace can be created, but without capabilities in it.
static bool is_restricted(void) { return setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1; }

static const char *permission_advice(void) {
  if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
    return "set sysctl kernel.unprivileged_userns_clone=1";
  if (is_restricted())
    return "add an AppArmor profile with 'userns,' for diorama-isolate, or set sysctl "
           "kernel.apparmor_restrict_unprivileged_userns=0";
  if (is_filtered())
    return "in a container, add the options --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
           "(Docker, Podman), or --privileged";
  return "in a container, add the option --privileged; otherwise run as root, outside of chroot, and look into the "
         "audit log for the security module that refuses it";
}

const char *advice(const struct isolation *isolation, const char *step) {
  const int error = isolation->error;
  static const struct {
    const char *step, *limit, *kernel;
  } namespaces[] = {
      {"user namespace", "set sysctl user.max_user_namespaces=10000", "use a kernel with CONFIG_USER_NS"},
      {"PID namespace", "set sysctl user.max_pid_namespaces=10000", "use a kernel with CONFIG_PID_NS"},
      {"mount namespace", "set sysctl user.max_mnt_namespaces=10000", "use a Linux kernel with mount namespaces"},
      {"network namespaces", "set sysctl user.max_net_namespaces=10000", "use a kernel with CONFIG_NET_NS"},
  };
  if (*isolation->advice) return isolation->advice;
  if (!strcmp(step, "seccomp notification")) {
    // seccomp(2)
    if (error == EBUSY) return "another program already supervises this one with seccomp; run diorama outside of it";
    if (error == EINVAL || error == ENOSYS) return "use Linux 5.9 or later with CONFIG_SECCOMP_FILTER";
    return "in a container, add the option --security-opt seccomp=unconfined";
  }
  if (!strcmp(step, "loopback sockets") && error == EPERM) return "use Linux 5.7 or later";
  if (!strcmp(step, "connections"))
    return "allow tracing (sysctl kernel.yama.ptrace_scope=1), mount /proc, and use Linux 5.9 or later";
  if (!strcmp(step, "process memory"))
    return "allow tracing (sysctl kernel.yama.ptrace_scope=1), and boot without proc_mem.force_override=never or ptrace";
  if (error == EMFILE || error == ENFILE) return "raise the limit of open files (ulimit -n)";
  if (error == ENOMEM || error == ENOBUFS || error == EAGAIN)
    return "free memory, or raise the limit of processes (ulimit -u)";
  for (size_t each = 0; each < sizeof namespaces / sizeof *namespaces; each++) {
    if (strcmp(namespaces[each].step, step)) continue;
    // clone(2), unshare(2): ENOSPC for a limit of /proc/sys/user, EUSERS for it before Linux 4.9.
    if (error == ENOSPC || error == EUSERS) return namespaces[each].limit;
    if (error == EINVAL || error == ENOSYS) return namespaces[each].kernel;
  }
  if (error == ENOENT && access("/proc/self/ns", F_OK)) return "mount /proc (mount -t proc proc /proc)";
  if (!strcmp(step, "command")) return "check the name of the program, PATH, and its permissions";
  if (!strcmp(step, "working directory")) return "check that the folder exists and is accessible";
  if (!strcmp(step, "bound files") && error != EPERM) return "check that both files exist, or both folders";
  if (!strcmp(step, "user and group IDs") && error == EPERM && isolation->user == 0 && !is_restricted())
    return "in a container, add the option --cap-add SETFCAP (root needs it since Linux 5.12), or use another user";
  if (!strcmp(step, "/proc") && error == EPERM && !is_restricted())
    return "in a container, add the option --security-opt systempaths=unconfined (Docker), "
           "--security-opt unmask=ALL (Podman), or --privileged";
  if (error == EPERM || error == EACCES || error == EROFS) return permission_advice();
  if (!strcmp(step, "network links") && error == EOPNOTSUPP) return "load the kernel module veth";
  if (!strcmp(step, "nftables rule"))
    return "load the kernel modules nf_tables and nft_tproxy (CONFIG_NF_TABLES_INET, CONFIG_NFT_TPROXY)";
  if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) return "enable IPv6 in the kernel (ipv6.disable=0)";
  return "see the manual page of the system call";
}
#endif
