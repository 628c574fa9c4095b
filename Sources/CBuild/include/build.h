#pragma once

/// The commit that was built, as `make install` passes it; "unknown" in other builds.
const char *_Nonnull diorama_build_commit(void);
