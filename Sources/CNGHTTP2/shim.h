#pragma once
// nghttp2: HTTP/2 frames, streams and header compression, without I/O.
#if !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2 is missing. Debian, Ubuntu: apt-get install libnghttp2-dev. Homebrew: brew install libnghttp2"
#endif
#include <nghttp2/nghttp2.h>
