/// Names of fields in any spelling: compared without case, `_` and `-`, so that `access_token` is `accessToken`.
///
/// ```swift
/// FieldNames(["access_token"]).contains("accessToken")  // true
/// ```
package struct FieldNames: Sendable, Equatable {
  private var names: Set<String>
  private var longest: Int

  /// No names.
  package static let none = FieldNames([])

  /// - Parameter names: the names in any spelling.
  package init(_ names: some Sequence<String>) {
    self.names = Set(names.map { Self.normalized($0.utf8) })
    longest = self.names.map(\.utf8.count).max() ?? 0
  }

  package var isEmpty: Bool { names.isEmpty }

  /// Whether a name is one of these.
  package func contains(_ name: String) -> Bool { contains(name.utf8) }

  /// Whether a name, in UTF-8, is one of these.
  package func contains(_ name: some Collection<UInt8>) -> Bool {
    // Separators can at most double the length.
    !name.isEmpty && name.count <= longest * 2 && names.contains(Self.normalized(name))
  }

  /// Returns these names and the others.
  package func union(_ others: FieldNames) -> FieldNames {
    var all = self
    all.names.formUnion(others.names)
    all.longest = max(longest, others.longest)
    return all
  }

  /// Returns these names without the others.
  package func subtracting(_ others: FieldNames) -> FieldNames {
    var rest = self
    rest.names.subtract(others.names)
    return rest
  }

  /// Whether a member of an object may have one of these names. Never false if one has, whether or not the text is
  /// valid; much faster than to read the text.
  ///
  /// - Parameter json: the whole text, or a part that begins outside of a name.
  /// - Returns: whether a colon follows such a name, or a name with an escape.
  package func mayOccur(inJSON json: [UInt8]) -> Bool {
    guard !isEmpty else { return false }
    return json.withUnsafeBufferPointer { json in
      var index = 0
      while index < json.count {
        defer { index += 1 }
        guard json[index] == UInt8(ascii: ":") else { continue }
        var end = index - 1
        while end > 0, json[end] == 0x20 || json[end] == 0x09 || json[end] == 0x0A || json[end] == 0x0D { end -= 1 }
        guard end > 0, json[end] == UInt8(ascii: "\"") else { continue }
        var start = end
        // A name with escapes can be six times as long.
        while start > 0, end - start <= longest * 12, json[start - 1] != UInt8(ascii: "\"") {
          start -= 1
          if json[start] == UInt8(ascii: "\\") { return true }
        }
        if contains(UnsafeBufferPointer(rebasing: json[start..<end])) { return true }
      }
      return false
    }
  }

  private static func normalized(_ name: some Collection<UInt8>) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.count)
    for byte in name where byte != UInt8(ascii: "_") && byte != UInt8(ascii: "-") {
      bytes.append(0x41...0x5A ~= byte ? byte | 0x20 : byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
