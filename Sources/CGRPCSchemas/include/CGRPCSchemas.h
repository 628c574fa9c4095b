#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Schemas of gRPC services by libprotobuf, and messages as JSON (the JSON mapping of
// https://protobuf.dev/programming-guides/json/).
//
// In the order of their use: diorama_schema_create, diorama_schema_add_… (as often as needed), diorama_schema_build, then,
// from any number of threads, diorama_schema_has_method, diorama_schema_to_json and
// diorama_schema_from_json, and diorama_schema_free.
//
// No input ends the process: parsing is limited in depth, size and memory, and exceptions of C++ become errors. libprotobuf
// does not write to standard error.

/// The files of a schema, and the methods in them.
typedef struct diorama_schema diorama_schema;

/// Bytes, which the receiver frees by free(3).
struct diorama_bytes {
  uint8_t *_Nullable start;
  size_t count;
};

/// Why a call failed. The receiver frees both texts by free(3).
struct diorama_schema_error {
  /// A file, with line and column if known; empty if the error has no place.
  char *_Nullable place;
  /// The problem, in one line.
  char *_Nullable problem;
};

/// Returns NULL if memory is short.
diorama_schema *_Nullable diorama_schema_create(void);

/// `schema` may be NULL.
void diorama_schema_free(diorama_schema *_Nullable schema);

/// A folder in which imported files are looked up, as with `protoc --proto_path`. Call it before adding files.
void diorama_schema_add_import_path(diorama_schema *_Nonnull schema, const char *_Nonnull path);

/// A .proto file, or, without this extension, a FileDescriptorSet as `protoc --descriptor_set_out` writes it. The folder of a
/// .proto file becomes an import path if no other contains the file.
bool diorama_schema_add_file(
    diorama_schema *_Nonnull schema, const char *_Nonnull path, struct diorama_schema_error *_Nonnull error);

/// A serialized FileDescriptorProto. The files that it imports may follow later.
bool diorama_schema_add_descriptor(
    diorama_schema *_Nonnull schema, const uint8_t *_Nullable bytes, size_t count,
    struct diorama_schema_error *_Nonnull error);

/// A serialized FileDescriptorSet.
bool diorama_schema_add_set(
    diorama_schema *_Nonnull schema, const uint8_t *_Nullable bytes, size_t count,
    struct diorama_schema_error *_Nonnull error);

/// Compiles what was added.
bool diorama_schema_build(diorama_schema *_Nonnull schema, struct diorama_schema_error *_Nonnull error);

/// Whether a service of the schema has the method. `path` is /package.Service/Method.
bool diorama_schema_has_method(const diorama_schema *_Nonnull schema, const char *_Nonnull path);

/// The file that defines a method, and what it imports, as a serialized FileDescriptorSet. Empty if no service of the schema has
/// the method.
struct diorama_bytes diorama_schema_descriptor_set(const diorama_schema *_Nonnull schema, const char *_Nonnull path);

enum diorama_schema_result {
  DIORAMA_SCHEMA_CONVERTED,
  /// No service of the schema has the method.
  DIORAMA_SCHEMA_UNKNOWN_METHOD,
  DIORAMA_SCHEMA_FAILED,
};

/// Converts a message to JSON in one line, with the fields in the order of their numbers. `path` is /package.Service/Method.
/// `unknown` receives the numbers of fields that the schema does not have, each with the path of its message
/// (`owner.address.7`), separated by line breaks; they are not part of the JSON.
enum diorama_schema_result diorama_schema_to_json(
    const diorama_schema *_Nonnull schema, const char *_Nonnull path, bool is_request, const uint8_t *_Nullable message,
    size_t count, struct diorama_bytes *_Nonnull json, struct diorama_bytes *_Nonnull unknown,
    struct diorama_schema_error *_Nonnull error);

/// Converts JSON to a message, with the fields in the order of their numbers. A field that the schema does not have is an
/// error.
enum diorama_schema_result diorama_schema_from_json(
    const diorama_schema *_Nonnull schema, const char *_Nonnull path, bool is_request, const uint8_t *_Nullable json,
    size_t count, struct diorama_bytes *_Nonnull message, struct diorama_schema_error *_Nonnull error);

#ifdef __cplusplus
}
#endif
