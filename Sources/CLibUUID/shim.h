#pragma once
// What Swift cannot import as it is gets a static inline function here.
#include <uuid/uuid.h>
