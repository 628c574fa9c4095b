#pragma once
// zlib (gzip, deflate) and brotli: the content codings that browsers accept.
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
