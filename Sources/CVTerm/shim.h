#pragma once
// libvterm: what a program draws on a terminal, as cells with characters and attributes.
#if !__has_include(<vterm.h>)
#error "libvterm is missing. Debian, Ubuntu: apt-get install libvterm-dev. Homebrew: brew install libvterm"
#endif
#include <vterm.h>
