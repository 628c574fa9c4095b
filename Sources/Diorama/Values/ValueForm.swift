import Basics
import Foundation
import LaunchContract

#if DEBUG || Controlled
  import Synchronization
#endif

/// A declaration of the app: the name that tests use, the default and the type.
@usableFromInline
struct Declared<Value: Sendable>: Sendable {
  let name: String
  @usableFromInline let defaultValue: Value
  let purpose: String
  let form: ValueForm<Value>
  #if DEBUG || Controlled
    /// A unique number of the declaration in the process, so that a lookup does not need the name.
    @usableFromInline let identity: UInt64
  #endif

  init(_ name: String, _ defaultValue: Value, _ purpose: String, _ form: ValueForm<Value>) {
    self.name = name
    self.defaultValue = defaultValue
    self.purpose = purpose
    self.form = form
    #if DEBUG || Controlled
      identity = DeclarationIdentity.next()
    #endif
  }
}

#if DEBUG || Controlled
  private enum DeclarationIdentity {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
  }
#endif

/// The conversion between an app's type and contract values.
struct ValueForm<Value: Sendable>: Sendable {
  /// The form in the contract. A type can have two.
  enum Kind: Sendable {
    case scalar, raw, json
  }

  let kind: Kind
  /// The type's name; for an enumeration with the possible values.
  let typeName: String
  /// Converts a contract value. If it has a different type, the error's problem is `which is not a Bool`.
  let read: @Sendable (JSON) throws(CodedError) -> Value
  /// Converts a value of the app.
  let write: @Sendable (Value) -> JSON

  private init(
    _ kind: Kind, typeName: String = "\(Value.self)", mismatch: String = "which is not a valid \(Value.self)",
    read: @escaping @Sendable (JSON) -> Value?, write: @escaping @Sendable (Value) -> JSON
  ) {
    self.kind = kind
    self.typeName = typeName
    self.read = { (given) throws(CodedError) in
      guard let value = read(given) else { throw CodedError(.broken, mismatch) }
      return value
    }
    self.write = write
  }
}

extension ValueForm<Bool> {
  static var scalar: Self { Self(.scalar, read: \.bool, write: JSON.bool) }
}

extension ValueForm<Int> {
  static var scalar: Self { Self(.scalar, read: \.int, write: JSON.int) }
}

extension ValueForm<Double> {
  static var scalar: Self { Self(.scalar, read: \.double, write: JSON.double) }
}

extension ValueForm<String> {
  static var scalar: Self { Self(.scalar, read: \.string, write: JSON.string) }
}

extension ValueForm where Value: RawRepresentable, Value.RawValue == String {
  static var raw: Self {
    raw(read: \.string) { .string($0) }
  }
}

extension ValueForm where Value: RawRepresentable, Value.RawValue == Int {
  static var raw: Self {
    raw(read: \.int) { .int($0) }
  }
}

extension ValueForm where Value: RawRepresentable {
  private static func raw(
    read: @escaping @Sendable (JSON) -> Value.RawValue?,
    write: @escaping @Sendable (Value.RawValue) -> JSON
  ) -> Self {
    let names = (Value.self as? any CaseIterable.Type).map { rawValues($0).joined(separator: ", ") }
    return Self(
      .raw, typeName: "\(Value.self)" + (names.map { ": \($0)" } ?? ""),
      mismatch: names.map { "which is not one of \($0)" } ?? "which is not a valid \(Value.self)",
      read: { read($0).flatMap(Value.init(rawValue:)) }, write: { write($0.rawValue) })
  }

  private static func rawValues<Choice: CaseIterable>(_ choice: Choice.Type) -> [String] {
    choice.allCases.compactMap { ($0 as? Value).map { "\($0.rawValue)" } }
  }
}

extension ValueForm where Value: Codable {
  static var json: Self { Self() }

  private init() {
    kind = .json
    typeName = "\(Value.self)"
    read = { (given) throws(CodedError) in
      try CodedError.translating(
        at: "which is not a valid \(Value.self)",
        try JSON.decode(Value.self, from: Data(given.encoded()), source: ""))
    }
    write = { value in
      let data = try? JSON.encode(value)
      return data.flatMap { try? JSON.decode(JSON.self, from: $0, source: "") } ?? .null
    }
  }
}
