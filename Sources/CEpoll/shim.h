#pragma once
// Functions missing from Swift's Glibc module.
#if defined(__linux__)
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// Sets the calling thread's name, as shown by `top -H`; at most 15 bytes.
static inline void diorama_name_this_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }
#endif
