#pragma once
#include <linux/audit.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
enum { NATIVE_ARCH = AUDIT_ARCH_X86_64, SMALL_ARCH = AUDIT_ARCH_I386, SMALL_START = 243 };  // set_thread_area
enum { SMALL_SOCKET = 359 };
#else
enum { NATIVE_ARCH = AUDIT_ARCH_AARCH64, SMALL_ARCH = AUDIT_ARCH_ARM, SMALL_START = 256 };  // set_tid_address
enum { SMALL_SOCKET = 281 };
#endif
// The same on every architecture.
enum { SMALL_SOCKETCALL = 102, IO_URING_SETUP = 425 };
