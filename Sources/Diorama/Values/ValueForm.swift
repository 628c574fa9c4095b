import LaunchContract

/// How values of one of the app's types stand in a contract.
struct ValueForm<Value: Sendable>: Sendable {
  /// Which of the forms it is: one type may have two.
  enum Kind: Sendable {
    case scalar, raw, json
  }

  /// The contract's value is of another type: `which is no Bool`.
  struct Mismatch: Error {
    let text: String
  }

  let kind: Kind
  /// For people; of a choice with its names.
  let typeName: String
  /// Takes a value out of a contract.
  let read: @Sendable (ContractValue) throws(Mismatch) -> Value
  /// Says what the app got.
  let write: @Sendable (Value) -> ContractValue

  private init(
    _ kind: Kind, typeName: String = "\(Value.self)", mismatch: String = "which is no \(Value.self)",
    read: @escaping @Sendable (ContractValue) -> Value?, write: @escaping @Sendable (Value) -> ContractValue
  ) {
    self.kind = kind
    self.typeName = typeName
    self.read = { (given) throws(Mismatch) in
      guard let value = read(given) else { throw Mismatch(text: mismatch) }
      return value
    }
    self.write = write
  }
}

extension ValueForm<Bool> {
  static var scalar: Self { Self(.scalar, read: \.bool, write: ContractValue.bool) }
}

extension ValueForm<Int> {
  static var scalar: Self { Self(.scalar, read: \.int, write: ContractValue.int) }
}

extension ValueForm<Double> {
  static var scalar: Self { Self(.scalar, read: \.double, write: ContractValue.double) }
}

extension ValueForm<String> {
  static var scalar: Self { Self(.scalar, read: \.string, write: ContractValue.string) }
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
    read: @escaping @Sendable (ContractValue) -> Value.RawValue?,
    write: @escaping @Sendable (Value.RawValue) -> ContractValue
  ) -> Self {
    let names = (Value.self as? any CaseIterable.Type).map { rawValues($0).joined(separator: ", ") }
    return Self(
      .raw, typeName: "\(Value.self)" + (names.map { ": \($0)" } ?? ""),
      mismatch: names.map { "which is none of \($0)" } ?? "which is no \(Value.self)",
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
    read = { (given) throws(Mismatch) in
      do {
        return try ContractJSON.decode(Value.self, from: try ContractJSON.encode(given), source: "")
      } catch {
        throw Mismatch(text: "which is no \(Value.self): \((error as? ContractError)?.problem ?? "\(error)")")
      }
    }
    write = { value in
      let data = try? ContractJSON.encode(value)
      return data.flatMap { try? ContractJSON.decode(ContractValue.self, from: $0, source: "") } ?? .null
    }
  }
}
