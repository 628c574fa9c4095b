#pragma once
// libprotobuf has an interface in C++ only. CGRPCSchemas wraps what Swift needs.
#if !__has_include(<google/protobuf/compiler/importer.h>)
#error "libprotobuf is missing. Debian, Ubuntu: apt-get install libprotobuf-dev, apt-get install libprotoc-dev (for importer.h). Homebrew: brew install protobuf"
#endif
#ifdef __cplusplus
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <google/protobuf/wire_format.h>
#endif
