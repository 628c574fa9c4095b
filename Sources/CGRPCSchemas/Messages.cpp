#include <exception>
#include <set>

#include "Schema.hpp"

namespace diorama {

// Limits. A message in memory can be a thousand times as large as its bytes: each empty submessage has room for all fields.
static const size_t largestMessage = 64 << 20;
static const size_t largestMemory = 512 << 20;
static const size_t largestJSON = 256 << 20;
static const int deepest = 100;
static const size_t mostUnknown = 16;

// Reads the bytes of a message without keeping it: adds up the memory that it would take, and lists unknown fields.
class Survey {
 public:
  explicit Survey(const diorama_schema &schema) : schema(schema) {}

  size_t memory = 0;
  std::set<std::string> unknown;
  // What does not fit, if `read` returns false.
  std::string problem;

  bool read(protobuf::io::CodedInputStream &input, const protobuf::Descriptor &type, const std::string &path, int depth,
            int group = 0) {
    using Format = protobuf::internal::WireFormatLite;
    if (depth > deepest) return fail(path, "messages are nested deeper than " + std::to_string(deepest) + " levels");
    memory += schema.factory.GetPrototype(&type)->SpaceUsedLong();
    while (const uint32_t tag = input.ReadTag()) {
      if (memory > largestMemory) return fail(path, "the message would take more than 512 MB of memory");
      const int number = Format::GetTagFieldNumber(tag);
      const Format::WireType wire = Format::GetTagWireType(tag);
      if (wire == Format::WIRETYPE_END_GROUP) return number == group || fail(path, "a group ends that did not begin");
      const protobuf::FieldDescriptor *field = type.FindFieldByNumber(number);
      if (!field) field = schema.pool.FindExtensionByNumber(&type, number);
      const bool isPacked = field && field->is_packable() && wire == Format::WIRETYPE_LENGTH_DELIMITED;
      if (!field || (!isPacked && wire != Format::WireTypeForFieldType(static_cast<Format::FieldType>(field->type())))) {
        if (unknown.size() < mostUnknown) unknown.insert(join(path, std::to_string(number)));
        if (!Format::SkipField(&input, tag)) return fail(path, "an unknown field is broken");
        continue;
      }
      if (wire == Format::WIRETYPE_START_GROUP) {
        if (!read(input, *field->message_type(), join(path, field->name()), depth + 1, number)) return false;
        continue;
      }
      if (wire != Format::WIRETYPE_LENGTH_DELIMITED) {
        memory += sizeof(uint64_t);
        if (!Format::SkipField(&input, tag)) return fail(path, "field " + field->name() + " is broken");
        continue;
      }
      int length;
      if (!input.ReadVarintSizeAsInt(&length) || length > input.BytesUntilLimit())
        return fail(path, "field " + field->name() + " ends early");
      if (field->type() != protobuf::FieldDescriptor::TYPE_MESSAGE) {
        memory += sizeof(std::string) + static_cast<size_t>(length) * (isPacked ? sizeof(uint64_t) : 1);
        input.Skip(length);
        continue;
      }
      const auto limit = input.PushLimit(length);
      if (!read(input, *field->message_type(), join(path, field->name()), depth + 1)) return false;
      if (!input.CheckEntireMessageConsumedAndPopLimit(limit)) return fail(path, "field " + field->name() + " is broken");
    }
    return (group == 0 && input.ConsumedEntireMessage()) || fail(path, "the message ends early or has an invalid tag");
  }

 private:
  const diorama_schema &schema;

  static std::string join(const std::string &path, const std::string &name) {
    return path.empty() ? name : path + "." + name;
  }

  bool fail(const std::string &path, const std::string &problem) {
    this->problem = path.empty() ? problem : path + ": " + problem;
    return false;
  }
};

// Discards what exceeds the limit: after an error, libprotobuf writes to a buffer that it does not keep.
class LimitedOutput final : public protobuf::io::ZeroCopyOutputStream {
 public:
  std::string text;
  bool isFull = false;

  bool Next(void **data, int *size) override {
    isFull = isFull || text.size() > largestJSON;
    return !isFull && stream.Next(data, size);
  }
  void BackUp(int count) override { stream.BackUp(count); }
  int64_t ByteCount() const override { return stream.ByteCount(); }

 private:
  protobuf::io::StringOutputStream stream{&text};
};

static const protobuf::Descriptor *messageType(const diorama_schema &schema, const char *path, bool isRequest) {
  const auto found = schema.methods.find(path);
  if (found == schema.methods.end()) return nullptr;
  return isRequest ? found->second->input_type() : found->second->output_type();
}

static std::string url(const protobuf::Descriptor &type) { return "type.googleapis.com/" + type.full_name(); }

// Encodes a message again with its fields in the order of their numbers and its maps in the order of their keys.
// Returns what does not fit, or nothing.
static std::string normalize(
    const diorama_schema &schema, const protobuf::Descriptor &type, std::string &message, std::set<std::string> *unknown) {
  Survey survey(schema);
  protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t *>(message.data()), static_cast<int>(message.size()));
  const auto limit = input.PushLimit(static_cast<int>(message.size()));
  if (!survey.read(input, type, "", 0)) return survey.problem;
  input.PopLimit(limit);
  if (unknown) *unknown = survey.unknown;
  std::unique_ptr<protobuf::Message> parsed(schema.factory.GetPrototype(&type)->New());
  if (!parsed->ParsePartialFromString(message)) return "a string is not UTF-8, or a field is broken";
  message.clear();
  protobuf::io::StringOutputStream stream(&message);
  protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  if (!parsed->SerializePartialToCodedStream(&output)) return "the message cannot be encoded";
  return "";
}

static std::string tooLarge(size_t count) {
  return std::to_string(count) + " bytes exceed the limit of " + std::to_string(largestMessage);
}

static diorama_schema_result failed(diorama_schema_error *error, const std::string &problem, const std::string &place) {
  // Errors of the JSON parser may begin with an empty place, and continue with an excerpt in further lines.
  const size_t start = problem.find_first_not_of(": ");
  const size_t end = problem.find('\n');
  fail(error, start < end ? problem.substr(start, end - start) : "it is invalid", place);
  return DIORAMA_SCHEMA_FAILED;
}

static diorama_schema_result toJSON(
    const diorama_schema &schema, const protobuf::Descriptor &type, const uint8_t *message, size_t count,
    diorama_bytes *json, diorama_bytes *unknown, diorama_schema_error *error) {
  if (count > largestMessage) return failed(error, tooLarge(count), type.full_name());
  std::string bytes(reinterpret_cast<const char *>(message), count);
  std::set<std::string> names;
  const std::string problem = normalize(schema, type, bytes, &names);
  if (!problem.empty()) return failed(error, problem, type.full_name());
  protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  LimitedOutput output;
  const auto status = protobuf::util::BinaryToJsonStream(
      schema.resolver.get(), url(type), &input, &output, protobuf::util::JsonPrintOptions());
  if (!status.ok()) return failed(error, std::string(status.message()), type.full_name());
  if (output.isFull) return failed(error, "its JSON exceeds 256 MB", type.full_name());
  std::string list;
  for (const std::string &name : names) list += list.empty() ? name : "\n" + name;
  *json = copy(output.text);
  *unknown = copy(list);
  return DIORAMA_SCHEMA_CONVERTED;
}

static diorama_schema_result fromJSON(
    const diorama_schema &schema, const protobuf::Descriptor &type, const uint8_t *json, size_t count,
    diorama_bytes *message, diorama_schema_error *error) {
  if (count > largestMessage) return failed(error, tooLarge(count), type.full_name());
  const std::string text(reinterpret_cast<const char *>(json), count);
  std::string bytes;
  const auto status = protobuf::util::JsonToBinaryString(
      schema.resolver.get(), url(type), text, &bytes, protobuf::util::JsonParseOptions());
  if (!status.ok()) return failed(error, std::string(status.message()), type.full_name());
  const std::string problem = normalize(schema, type, bytes, nullptr);
  if (!problem.empty()) return failed(error, problem, type.full_name());
  *message = copy(bytes);
  return DIORAMA_SCHEMA_CONVERTED;
}

}  // namespace diorama

bool diorama_schema_has_method(const diorama_schema *schema, const char *path) {
  try {
    return diorama::messageType(*schema, path, true) != nullptr;
  } catch (const std::exception &) {
    return false;
  }
}

diorama_schema_result diorama_schema_to_json(
    const diorama_schema *schema, const char *path, bool is_request, const uint8_t *message, size_t count,
    diorama_bytes *json, diorama_bytes *unknown, diorama_schema_error *error) {
  try {
    const protobuf::Descriptor *type = diorama::messageType(*schema, path, is_request);
    if (!type) return DIORAMA_SCHEMA_UNKNOWN_METHOD;
    return diorama::toJSON(*schema, *type, message, count, json, unknown, error);
  } catch (const std::exception &exception) {
    return diorama::failed(error, exception.what(), path);
  }
}

diorama_schema_result diorama_schema_from_json(
    const diorama_schema *schema, const char *path, bool is_request, const uint8_t *json, size_t count,
    diorama_bytes *message, diorama_schema_error *error) {
  try {
    const protobuf::Descriptor *type = diorama::messageType(*schema, path, is_request);
    if (!type) return DIORAMA_SCHEMA_UNKNOWN_METHOD;
    return diorama::fromJSON(*schema, *type, json, count, message, error);
  } catch (const std::exception &exception) {
    return diorama::failed(error, exception.what(), path);
  }
}
