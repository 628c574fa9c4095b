#pragma once
// Swift's Glibc module leaves these out.
#if defined(__linux__)
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// The name by which tools such as `top -H` show the calling thread; at most 15 bytes.
static inline void diorama_name_this_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }
#endif
