#pragma once
#include <linux/audit.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
enum { NATIVE_ARCH = AUDIT_ARCH_X86_64, SMALL_ARCH = AUDIT_ARCH_I386, SMALL_START = 243 };  // set_thread_area
enum { SMALL_SOCKETS = 359, SMALL_SOCKETS_END = 374, SMALL_SENDMMSG = 345 };  // socket to shutdown
#else
enum { NATIVE_ARCH = AUDIT_ARCH_AARCH64, SMALL_ARCH = AUDIT_ARCH_ARM, SMALL_START = 256 };  // set_tid_address
enum { SMALL_SOCKETS = 281, SMALL_SOCKETS_END = 298, SMALL_SENDMMSG = 374 };  // socket to recvmsg
#endif
// The numbers that sockets of UDP get in programs, if these are free: below FD_SETSIZE (select(2)), and above those in use.
enum { DATAGRAM_DESCRIPTORS = 960, DATAGRAM_DESCRIPTORS_END = 1024 };

// The same on every architecture.
enum { SMALL_SOCKETCALL = 102, IO_URING_SETUP = 425 };
