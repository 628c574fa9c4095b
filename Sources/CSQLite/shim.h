#pragma once
// Parts of SQLite that Swift cannot import: a macro with a cast, and a variadic function.
#if !__has_include(<sqlite3.h>)
#error "SQLite is missing. Debian, Ubuntu: apt-get install libsqlite3-dev. Homebrew: brew install sqlite"
#endif
#include <sqlite3.h>

// "SQLITE_TRANSIENT means that the content will likely change in the near future and that SQLite should make its own
// private copy of the content before returning."
static inline sqlite3_destructor_type diorama_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// "Usually, when a database in WAL mode is closed or detached from a database handle, SQLite checks if this will mean
// that there are now no connections at all to the database. If so, it performs a checkpoint operation before closing
// the connection. This option may be used to override this behavior."
static inline int diorama_sqlite_checkpoint_on_close(sqlite3 *database, int is_on) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_on, (int *)0);
}
