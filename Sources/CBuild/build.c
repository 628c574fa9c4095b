// In C, so that a new commit recompiles these lines only.
#include "build.h"

const char *diorama_build_commit(void) { return DIORAMA_COMMIT; }
