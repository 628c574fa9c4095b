#pragma once
// libdiorama-clock.so, which LD_PRELOAD loads into programs that run under the clock's supervisor. It declares nothing: it
// defines functions of glibc.
