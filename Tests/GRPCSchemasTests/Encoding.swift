/// Messages of Protocol Buffers, encoded by hand.
enum Encoding {
  static func varint(_ value: Int) -> [UInt8] {
    value > 0x7F ? [UInt8(value & 0x7F) | 0x80] + varint(value >> 7) : [UInt8(value)]
  }

  static func number(_ number: Int, _ value: Int) -> [UInt8] { varint(number << 3) + varint(value) }

  static func text(_ number: Int, _ text: String) -> [UInt8] { message(number, Array(text.utf8)) }

  /// A message in a field, or any bytes.
  static func message(_ number: Int, _ fields: [UInt8]...) -> [UInt8] {
    let content = fields.reduce(into: []) { $0 += $1 }
    return varint(number << 3 | 2) + varint(content.count) + content
  }

  static func all(_ fields: [UInt8]...) -> [UInt8] { fields.reduce(into: []) { $0 += $1 } }

  /// Returns the bytes with some changed, and perhaps without their end.
  static func damaged(_ bytes: [UInt8], using generator: inout some RandomNumberGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &generator) {
      bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
    }
    return Bool.random(using: &generator)
      ? bytes : Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
  }

  /// A FileDescriptorProto with a message `pets.Pet` that has a name, a time and a pet inside.
  static let pet = all(
    text(1, "pets/pet.proto"), text(2, "pets"), text(3, "google/protobuf/timestamp.proto"),
    message(
      4, text(1, "Pet"),
      message(2, text(1, "name"), number(3, 1), number(4, 1), number(5, 9)),
      message(2, text(1, "born"), number(3, 2), number(4, 1), number(5, 11), text(6, ".google.protobuf.Timestamp")),
      message(2, text(1, "pup"), number(3, 3), number(4, 1), number(5, 11), text(6, ".pets.Pet"))),
    text(12, "proto3"))

  /// A FileDescriptorProto with a service `pets.Store` whose method `Find` takes and returns a pet.
  static let store = file("pets/store.proto", importing: ["pets/pet.proto"], method: "Find")

  static func file(_ name: String, importing names: [String], method: String) -> [UInt8] {
    all(
      text(1, name), text(2, "pets"), names.flatMap { text(3, $0) },
      message(6, text(1, "Store"), message(2, text(1, method), text(2, ".pets.Pet"), text(3, ".pets.Pet"))),
      text(12, "proto3"))
  }
}
