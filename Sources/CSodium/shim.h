#pragma once
// libsodium: authenticated encryption and random keys.
#if !__has_include(<sodium.h>)
#error "libsodium is missing. Debian, Ubuntu: apt-get install libsodium-dev. Homebrew: brew install libsodium"
#endif
#include <sodium.h>
