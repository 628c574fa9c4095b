#include "Schema.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <set>

namespace diorama {

// libprotobuf's error for an import, in the place of the imported file.
static const std::string fileNotFound = "File not found.";
static const off_t largestFile = 64 << 20;

bool GivenFiles::FindFileByName(const std::string &name, protobuf::FileDescriptorProto *file) {
  if (const auto *own = protobuf::DescriptorPool::generated_pool()->FindFileByName(name)) {
    own->CopyTo(file);
    return true;
  }
  const auto found = files.find(name);
  if (found == files.end()) return false;
  *file = found->second;
  return true;
}

std::vector<std::string> GivenFiles::inOrder() const {
  // Not recursive: a long chain of imports must not exhaust the stack. The pool reports cycles.
  struct Step {
    const protobuf::FileDescriptorProto *file;
    int next;
  };
  std::vector<std::string> order;
  std::set<std::string> visited;
  for (const auto &each : files) {
    if (!visited.insert(each.first).second) continue;
    std::vector<Step> steps{{&each.second, 0}};
    while (!steps.empty()) {
      Step &step = steps.back();
      if (step.next == step.file->dependency_size()) {
        order.push_back(step.file->name());
        steps.pop_back();
        continue;
      }
      const auto found = files.find(step.file->dependency(step.next++));
      if (found != files.end() && visited.insert(found->first).second) steps.push_back({&found->second, 0});
    }
  }
  return order;
}

void FirstError::AddError(const std::string &file, int line, int column, const std::string &problem) {
  // The error of the import follows, which has a line.
  if (!this->problem.empty() && this->problem != fileNotFound) return;
  this->file = file;
  this->line = line;
  this->column = column;
  this->problem = problem;
}

bool fail(diorama_schema_error *error, const std::string &problem, const std::string &place) {
  error->place = strdup(place.c_str());
  error->problem = strdup(problem.c_str());
  return false;
}

diorama_bytes copy(const std::string &text) {
  diorama_bytes bytes{static_cast<uint8_t *>(malloc(text.size() + 1)), text.size()};
  if (!bytes.start) throw std::bad_alloc();
  memcpy(bytes.start, text.data(), text.size());
  return bytes;
}

// The place of the first error, in a form that CodedError uses, too.
static std::string place(diorama_schema &schema) {
  const FirstError &error = schema.firstError;
  std::string place = error.file;
  schema.tree.VirtualFileToDiskFile(error.file, &place);
  if (error.line < 0) return place;
  return place + ": line " + std::to_string(error.line + 1) + ", column " + std::to_string(error.column + 1);
}

static std::string advice(const std::string &problem, bool isSource) {
  if (problem == fileNotFound || problem.find("was not found") != std::string::npos)
    return " Add the folder that contains it with --proto-path DIR, or make the descriptor set with protoc --include_imports.";
  return isSource ? " Correct the file, or name another one with --proto FILE." : "";
}

static bool build(diorama_schema &schema, diorama_schema_error *error) {
  std::vector<std::string> names = schema.given.inOrder();
  names.insert(names.end(), schema.sources.begin(), schema.sources.end());
  std::vector<const protobuf::FileDescriptor *> pending;
  for (const std::string &name : names) {
    const protobuf::FileDescriptor *file = schema.pool.FindFileByName(name);
    if (!file || !schema.firstError.problem.empty()) {
      const std::string problem = schema.firstError.problem.empty() ? "it is invalid" : schema.firstError.problem;
      return fail(error, problem + advice(problem, schema.firstError.line >= 0), schema.firstError.problem.empty() ? name : place(schema));
    }
    pending.push_back(file);
  }
  std::set<const protobuf::FileDescriptor *> visited;
  while (!pending.empty()) {
    const protobuf::FileDescriptor *file = pending.back();
    pending.pop_back();
    if (!visited.insert(file).second) continue;
    for (int index = 0; index < file->message_type_count(); index++) {
      const std::string &type = file->message_type(index)->full_name();
      const auto *own = protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
      // libprotobuf converts these types by fixed rules, without a check of their fields.
      if (own && own->file()->name() != file->name())
        return fail(error, "it defines " + type + "; import " + own->file()->name() + " instead", file->name());
    }
    for (int index = 0; index < file->dependency_count(); index++) pending.push_back(file->dependency(index));
    for (int index = 0; index < file->service_count(); index++) {
      const protobuf::ServiceDescriptor *service = file->service(index);
      for (int number = 0; number < service->method_count(); number++) {
        const protobuf::MethodDescriptor *method = service->method(number);
        schema.methods.emplace("/" + service->full_name() + "/" + method->name(), method);
      }
    }
  }
  return true;
}

static bool addSource(diorama_schema &schema, const std::string &path, diorama_schema_error *error) {
  using Tree = protobuf::compiler::DiskSourceTree;
  std::string name, other;
  Tree::DiskFileToVirtualFileResult result = schema.tree.DiskFileToVirtualFile(path, &name, &other);
  if (result == Tree::NO_MAPPING) {
    const size_t slash = path.rfind('/');
    schema.tree.MapPath("", slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
    result = schema.tree.DiskFileToVirtualFile(path, &name, &other);
  }
  switch (result) {
    case Tree::SUCCESS:
      schema.sources.push_back(name);
      return true;
    case Tree::SHADOWED:
      return fail(error, other + " has the same name; add a folder that contains both with --proto-path DIR", path);
    case Tree::CANNOT_OPEN:
      return fail(error, strerror(errno), path);
    case Tree::NO_MAPPING:
      break;
  }
  return fail(error, "no --proto-path folder contains it; begin its path as that of a --proto-path folder", path);
}

static bool addSet(diorama_schema &schema, const std::string &path, diorama_schema_error *error) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(error, strerror(errno), path);
  protobuf::FileDescriptorSet set;
  if (!set.ParseFromIstream(&stream) || set.file_size() == 0)
    return fail(error, "it is not a descriptor set of protoc; name a source file .proto", path);
  for (const auto &file : set.file()) schema.given.files[file.name()] = file;
  return true;
}

static bool addFile(diorama_schema &schema, const std::string &path, diorama_schema_error *error) {
  // Opening a pipe would wait for a writer.
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    const int reason = errno;
    std::string found;
    // As protoc does: a path may begin in one of the import paths.
    if (reason == ENOENT && schema.tree.VirtualFileToDiskFile(path, &found)) {
      schema.sources.push_back(path);
      return true;
    }
    return fail(
        error, std::string(strerror(reason)) + "; correct the path in --proto FILE, which begins in the current folder or in a "
        "folder of --proto-path DIR", path);
  }
  if (!S_ISREG(status.st_mode)) return fail(error, "it is not a regular file", path);
  if (status.st_size > largestFile) return fail(error, "it has more than 64 MB", path);
  const std::string extension = ".proto";
  const bool isSource = path.size() > extension.size() && path.substr(path.size() - extension.size()) == extension;
  return isSource ? addSource(schema, path, error) : addSet(schema, path, error);
}

}  // namespace diorama

diorama_schema::diorama_schema()
    : database(&tree, &given),
      pool(&database, database.GetValidationErrorCollector()),
      factory(&pool),
      resolver(protobuf::util::NewTypeResolverForDescriptorPool("type.googleapis.com", &pool)) {
  database.RecordErrorsTo(&firstError);
}

diorama_schema *diorama_schema_create(void) {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  // It writes each error to standard error, which belongs to the program of the test.
  static std::once_flag silenced;
  std::call_once(silenced, [] { protobuf::SetLogHandler(nullptr); });
#endif
  try {
    return new diorama_schema();
  } catch (...) {
    return nullptr;
  }
}

void diorama_schema_free(diorama_schema *schema) { delete schema; }

void diorama_schema_add_import_path(diorama_schema *schema, const char *path) { schema->tree.MapPath("", path); }

bool diorama_schema_add_file(diorama_schema *schema, const char *path, diorama_schema_error *error) {
  try {
    return diorama::addFile(*schema, path, error);
  } catch (const std::exception &exception) {
    return diorama::fail(error, exception.what(), path);
  }
}

bool diorama_schema_add_descriptor(
    diorama_schema *schema, const uint8_t *bytes, size_t count, diorama_schema_error *error) {
  try {
    protobuf::FileDescriptorProto file;
    if (count > INT32_MAX || !file.ParseFromArray(bytes, static_cast<int>(count)) || file.name().empty())
      return diorama::fail(error, "the bytes are not a FileDescriptorProto");
    schema->given.files[file.name()] = file;
    return true;
  } catch (const std::exception &exception) {
    return diorama::fail(error, exception.what());
  }
}

bool diorama_schema_add_set(
    diorama_schema *schema, const uint8_t *bytes, size_t count, diorama_schema_error *error) {
  try {
    protobuf::FileDescriptorSet set;
    if (count > INT32_MAX || !set.ParseFromArray(bytes, static_cast<int>(count)))
      return diorama::fail(error, "the bytes are not a FileDescriptorSet");
    for (const auto &file : set.file()) schema->given.files[file.name()] = file;
    return true;
  } catch (const std::exception &exception) {
    return diorama::fail(error, exception.what());
  }
}

diorama_bytes diorama_schema_descriptor_set(const diorama_schema *schema, const char *path) {
  try {
    const auto found = schema->methods.find(path);
    if (found == schema->methods.end()) return diorama_bytes{nullptr, 0};
    protobuf::FileDescriptorSet set;
    std::set<std::string> visited;
    std::vector<const protobuf::FileDescriptor *> pending{found->second->file()};
    while (!pending.empty()) {
      const protobuf::FileDescriptor *file = pending.back();
      pending.pop_back();
      // Those of libprotobuf itself are always known.
      if (!visited.insert(file->name()).second || protobuf::DescriptorPool::generated_pool()->FindFileByName(file->name()))
        continue;
      file->CopyTo(set.add_file());
      for (int index = 0; index < file->dependency_count(); index++) pending.push_back(file->dependency(index));
    }
    return diorama::copy(set.SerializeAsString());
  } catch (const std::exception &) {
    return diorama_bytes{nullptr, 0};
  }
}

bool diorama_schema_build(diorama_schema *schema, diorama_schema_error *error) {
  try {
    return diorama::build(*schema, error);
  } catch (const std::exception &exception) {
    return diorama::fail(error, exception.what());
  }
}
