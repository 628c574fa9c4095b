#pragma once
// zlib (gzip, deflate) and brotli: the content codings that browsers ask for.
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
