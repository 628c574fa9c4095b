#pragma once
// zlib (gzip, deflate) and brotli: the content codings that browsers accept.
#if !__has_include(<zlib.h>)
#error "zlib is missing. Debian, Ubuntu: apt-get install zlib1g-dev. Homebrew: brew install zlib"
#endif
#if !__has_include(<brotli/encode.h>)
#error "brotli is missing. Debian, Ubuntu: apt-get install libbrotli-dev. Homebrew: brew install brotli"
#endif
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
