#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../CProtobuf/shim.h"
#include "CGRPCSchemas.h"

namespace protobuf = google::protobuf;

namespace diorama {

// Files that were given as descriptors. Files of libprotobuf itself (google/protobuf/timestamp.proto) are part of it, since
// descriptor sets often leave them out, and always come from there: libprotobuf converts their messages by fixed rules.
class GivenFiles final : public protobuf::DescriptorDatabase {
 public:
  std::map<std::string, protobuf::FileDescriptorProto> files;

  bool FindFileByName(const std::string &name, protobuf::FileDescriptorProto *file) override;
  bool FindFileContainingSymbol(const std::string &, protobuf::FileDescriptorProto *) override { return false; }
  bool FindFileContainingExtension(const std::string &, int, protobuf::FileDescriptorProto *) override { return false; }
  // The names, each after those that it imports.
  std::vector<std::string> inOrder() const;
};

// Keeps the first error. Others are often its consequences.
class FirstError final : public protobuf::compiler::MultiFileErrorCollector {
 public:
  std::string file;
  int line = -1;
  int column = 0;
  std::string problem;

  void AddError(const std::string &file, int line, int column, const std::string &problem) override;
};

}  // namespace diorama

struct diorama_schema {
  diorama_schema();

  protobuf::compiler::DiskSourceTree tree;
  std::vector<std::string> sources;
  diorama::GivenFiles given;
  protobuf::compiler::SourceTreeDescriptorDatabase database;
  diorama::FirstError firstError;
  protobuf::DescriptorPool pool;
  // Thread-safe, like the pool and the resolver.
  mutable protobuf::DynamicMessageFactory factory;
  std::unique_ptr<protobuf::util::TypeResolver> resolver;
  std::unordered_map<std::string, const protobuf::MethodDescriptor *> methods;
};

namespace diorama {

// Fills in `error`; the texts stay NULL if memory is short. Returns false, for a caller that fails.
bool fail(diorama_schema_error *error, const std::string &problem, const std::string &place = "");
// Copies text to memory of malloc(3).
diorama_bytes copy(const std::string &text);

}  // namespace diorama
