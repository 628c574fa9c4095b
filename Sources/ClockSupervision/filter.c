#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "ClockSupervision.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

// Of an argument, the low half: both architectures are little-endian.
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), then, otherwise)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define AT_LEAST(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)(value), then, otherwise)
#define NOTIFY RETURN(SECCOMP_RET_USER_NOTIF)
#define NOTIFY_IF(value) IF(value, 0, 1), NOTIFY
#define REFUSE(code) RETURN(SECCOMP_RET_ERRNO | (code))
#define REFUSE_IF(value, code) IF(value, 0, 1), REFUSE(code)
#define REFUSE_FASTOPEN BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MSG_FASTOPEN, 0, 1), REFUSE(EOPNOTSUPP)
#define ALLOW_IF(value) IF(value, 0, 1), ALLOW

// What a new program calls early and few call later, before it has threads or handlers of signals: glibc, musl and Go set
// their thread pointer with arch_prctl. On arm64 that is no system call; there glibc and musl call set_tid_address, and Go
// sched_getaffinity.
static const struct sock_filter of_starts[] = {
  LOAD(arch),
  IF(SMALL_ARCH, 0, 4), LOAD(nr), NOTIFY_IF(SMALL_START), ALLOW,
  IF(NATIVE_ARCH, 1, 0), ALLOW,
  LOAD(nr),
};

// What could leave the machine without a call that is judged: the 32-bit calls of sockets, which a 64-bit program can make,
// too (int $0x80), since the arguments of socketcall(2) are out of reach; x32, which has other numbers for the same calls
// (syscall(2)); and io_uring, which makes calls that no filter sees.
static const struct sock_filter of_other_ways[] = {
  LOAD(arch),
  IF(SMALL_ARCH, 0, 8), LOAD(nr), REFUSE_IF(SMALL_SOCKETCALL, EPERM), REFUSE_IF(SMALL_SENDMMSG, EPERM),
    AT_LEAST(SMALL_SOCKETS, 0, 2), AT_LEAST(SMALL_SOCKETS_END, 1, 0), REFUSE(EPERM),
  LOAD(nr), REFUSE_IF(IO_URING_SETUP, ENOSYS),
#if defined(__x86_64__)
  AT_LEAST(0x40000000, 0, 1), REFUSE(ENOSYS),
#endif
};

// connect(2), what may have a destination, and sockets other than those of this machine and of the kernel (AF_UNIX, AF_NETLINK,
// AF_ALG). TCP and UDP are the only protocols; programs can do without TCP Fast Open and Multipath TCP. What is received is of
// interest only on the sockets of UDP that have numbers of their own: other calls are frequent. The device of a socket stays
// as we have set it, also while bind(2) and connect(2), which can change it, are judged.
static const struct sock_filter of_network[] = {
  NOTIFY_IF(__NR_bind),
  NOTIFY_IF(__NR_connect),
  NOTIFY_IF(__NR_getpeername),
  IF(__NR_setsockopt, 0, 7), LOAD(args[1]), IF(SOL_SOCKET, 0, 4), LOAD(args[2]), IF(SO_BINDTODEVICE, 1, 0),
    IF(SO_BINDTOIFINDEX, 0, 1), REFUSE(EPERM), ALLOW,
  IF(__NR_recvmsg, 1, 0), IF(__NR_recvfrom, 0, 5), LOAD(args[0]),
    AT_LEAST(DATAGRAM_DESCRIPTORS, 0, 2), AT_LEAST(DATAGRAM_DESCRIPTORS_END, 1, 0), NOTIFY, ALLOW,
  IF(__NR_sendto, 0, 9), LOAD(args[3]), REFUSE_FASTOPEN,
    LOAD(args[4]), IF(0, 0, 3), LOAD_HIGH(args[4]), IF(0, 0, 1), ALLOW, NOTIFY,
  IF(__NR_sendmsg, 0, 4), LOAD(args[2]), REFUSE_FASTOPEN, NOTIFY,
  IF(__NR_sendmmsg, 0, 4), LOAD(args[3]), REFUSE_FASTOPEN, NOTIFY,
  IF(__NR_socket, 0, 29), LOAD(args[0]), ALLOW_IF(AF_UNIX), ALLOW_IF(AF_NETLINK), ALLOW_IF(AF_ALG), REFUSE_IF(AF_PACKET, EPERM),
    IF(AF_INET, 2, 0), IF(AF_INET6, 1, 0), REFUSE(EAFNOSUPPORT),
    // The type without its flags.
    LOAD(args[1]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
    IF(SOCK_STREAM, 0, 6), LOAD(args[2]), NOTIFY_IF(0), NOTIFY_IF(IPPROTO_TCP), REFUSE(EPROTONOSUPPORT),
    IF(SOCK_DGRAM, 0, 6), LOAD(args[2]), NOTIFY_IF(0), NOTIFY_IF(IPPROTO_UDP), REFUSE(EPROTONOSUPPORT),
    REFUSE(EPERM),
};

// Network namespaces do not apply to sockets of virtual machines, by which a program could reach the machine's host.
static const struct sock_filter of_namespaces[] = {
  IF(__NR_socket, 0, 4), LOAD(args[0]), REFUSE_IF(AF_VSOCK, EAFNOSUPPORT), ALLOW,
};

static const struct sock_filter of_unsupervised[] = {
  LOAD(arch),
  IF(NATIVE_ARCH, 1, 0), ALLOW,
  LOAD(nr),
};

// glibc calls set_robust_list at the start of each process and thread, also after fork. This shows new processes in time to
// know the order of their creation, on which their random values depend. A notification of fork itself could make fork fail
// with EINTR, if a signal arrives before the notification is read, which programs do not expect. glibc ignores the result of
// set_robust_list.
static const struct sock_filter of_randomness[] = {
  NOTIFY_IF(__NR_getrandom),
  NOTIFY_IF(__NR_set_robust_list),
};

static const struct sock_filter of_clocks[] = {
  NOTIFY_IF(__NR_gettimeofday),
#if defined(__x86_64__)
  NOTIFY_IF(__NR_time),
  IF(__NR_arch_prctl, 0, 4), LOAD(args[0]), NOTIFY_IF(ARCH_SET_FS), ALLOW,
#else
  NOTIFY_IF(__NR_set_tid_address),
  NOTIFY_IF(__NR_sched_getaffinity),
#endif
  IF(__NR_clock_gettime, 1, 0), ALLOW,
  LOAD(args[5]), IF(DIORAMA_CLOCK_MAGIC, 0, 1), ALLOW,
  LOAD(args[0]), NOTIFY_IF(CLOCK_REALTIME), NOTIFY_IF(CLOCK_REALTIME_COARSE), NOTIFY_IF(CLOCK_REALTIME_ALARM),
  NOTIFY_IF(CLOCK_TAI), NOTIFY_IF(DIORAMA_CLOCK_MAGIC), ALLOW,
};

// Not interrupted by signals once we have received a notification (Linux 5.19), as a runtime may send them all the time. Not
// slowed down by speculation barriers: the filter is no sandbox. `cookie` is the sixth argument of our own message with the
// listener, which no supervisor could answer yet. It is random, so that no program can use it.
static int install(unsigned parts, uint64_t cookie) {
  struct sock_filter program[160];
  struct sock_fprog filter = {0, program};
  static const struct sock_filter rest[] = {ALLOW};
  const struct sock_filter of_message[] = {
    IF(__NR_sendmsg, 0, 6), LOAD(args[5]), IF((uint32_t)cookie, 0, 3), LOAD_HIGH(args[5]), IF(cookie >> 32, 0, 1), ALLOW, LOAD(nr),
  };
  bool has_network = parts & DIORAMA_NETWORK;
  const struct {
    bool is_wanted;
    const struct sock_filter *filter;
    size_t size;
  } all[] = {
    {has_network, of_other_ways, sizeof of_other_ways},
    {parts, of_starts, sizeof of_starts},
    {!parts, of_unsupervised, sizeof of_unsupervised},
    {has_network, of_message, sizeof of_message},
    {has_network, of_network, sizeof of_network},
    {!has_network, of_namespaces, sizeof of_namespaces},
    {parts & DIORAMA_RANDOM, of_randomness, sizeof of_randomness},
    {parts & (DIORAMA_CLOCK | DIORAMA_RANDOM), of_clocks, sizeof of_clocks},
    {true, rest, sizeof rest},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!all[i].is_wanted) continue;
    memcpy(program + filter.len, all[i].filter, all[i].size);
    filter.len += (unsigned short)(all[i].size / sizeof *program);
  }
  unsigned long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (!parts) return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
  int listener =
    (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &filter);
  if (listener < 0 && errno == EINVAL) listener = (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  return listener;
}

int diorama_clock_enter(int socket, unsigned parts, char *error) {
  uint64_t cookie;
  if (getrandom(&cookie, sizeof cookie, 0) != sizeof cookie) {
    int code = errno;
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot supervise the program: getrandom: %s; start the program again", strerror(code));
    errno = code;
    return -1;
  }
  int listener = install(parts, cookie);
  // seccomp(2): without CAP_SYS_ADMIN, a filter needs no_new_privs.
  if (listener < 0 && parts && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) listener = install(parts, cookie);
  if (listener < 0) {
    int code = errno;
    const char *advice = errno == EBUSY ? "another program already supervises this one; run it outside of that"
      : errno == EINVAL || errno == ENOSYS ? "Linux 5.9 or later with CONFIG_SECCOMP_FILTER is needed; use --shift-dates"
      : "allow seccomp in this container, or use --shift-dates";
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot supervise the program: seccomp: %s; %s", strerror(errno), advice);
    errno = code;
    return -1;
  }
  if (!parts) return 0;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof listener)];
  } control = {.bytes = {0}};
  struct iovec byte = {"l", 1};
  struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof listener);
  memcpy(CMSG_DATA(&control.header), &listener, sizeof listener);
  ssize_t sent;
  do sent = syscall(__NR_sendmsg, socket, &message, MSG_NOSIGNAL, 0, 0, cookie); while (sent < 0 && errno == EINTR);
  int code = errno;
  if (sent < 0) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot send the listener to the supervisor: sendmsg: %s; start the program again",
      strerror(code));
  }
  close(listener);
  errno = code;
  return sent < 0 ? -1 : 0;
}

int diorama_clock_receive_listener(int socket, char *error) {
  int listener;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof listener)];
  } control;
  char content;
  struct iovec byte = {&content, 1};
  struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t received;
  do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC); while (received < 0 && errno == EINTR);
  struct cmsghdr *header = received > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "no listener came from the program: recvmsg: %s; see what it reported",
      received < 0 ? strerror(errno) : "the end of the stream");
    return -1;
  }
  memcpy(&listener, CMSG_DATA(header), sizeof listener);
  // The program waits for each answer, so it is fastest to wake the supervisor on the same processor (Linux 6.6).
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  return listener;
}
#endif
