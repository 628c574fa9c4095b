import LaunchContract

/// The members of an object whose names are fixed: what is not known, twice there or of another type is refused, in one
/// line that says where and what is allowed.
struct StrictMembers {
  private let place: String
  private let members: [JSON.Member]

  /// - Parameters:
  ///   - json: what is to be an object.
  ///   - place: its JSON path.
  ///   - allowed: the names of its members.
  /// - Throws: `ContractError` for another value than an object, and for a member that is not known or there twice.
  init(_ json: JSON, at place: String, allowed: [String]) throws(ContractError) {
    guard let members = json.object else { throw ContractError("\(place) is to be an object") }
    self.place = place
    self.members = members
    var seen: [String] = []
    for member in members {
      guard allowed.contains(member.key) else {
        let name = String(member.key.prefix(60))
        let near = EditDistance.nearest(to: name, among: allowed).first
        throw ContractError(
          "\(place) has no member '\(name)'" + (near.map { ", did you mean '\($0)'?" } ?? ";")
            + " It can have \(allowed.joined(separator: ", "))")
      }
      guard !seen.contains(member.key) else { throw ContractError("\(place) has '\(member.key)' twice") }
      seen.append(member.key)
    }
  }

  subscript(_ name: String) -> JSON? { members.first { $0.key == name }?.value }

  func text(_ name: String) throws(ContractError) -> String? {
    guard let value = self[name] else { return nil }
    return try Self.text(value, at: "\(place).\(name)")
  }

  func texts(_ name: String) throws(ContractError) -> [String] {
    var texts: [String] = []
    for (index, element) in try elements(name).enumerated() {
      texts.append(try Self.text(element, at: "\(place).\(name)[\(index)]"))
    }
    return texts
  }

  func flag(_ name: String) throws(ContractError) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else { throw ContractError("\(place).\(name) is to be true or false") }
    return flag
  }

  func elements(_ name: String) throws(ContractError) -> [JSON] {
    guard let value = self[name] else { return [] }
    guard let elements = value.array else { throw ContractError("\(place).\(name) is to be an array") }
    guard elements.count <= 1000 else { throw ContractError("\(place).\(name) has more than 1000 elements") }
    return elements
  }

  func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type
  ) throws(ContractError) -> Word? where Word.RawValue == String {
    guard let text = try text(name) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw ContractError(
        "\(place).\(name) is '\(text.prefix(60))'; it can be "
          + Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return word
  }

  private static func text(_ value: JSON, at place: String) throws(ContractError) -> String {
    guard let text = value.string, !text.isEmpty, text.utf8.count <= 4096 else {
      throw ContractError("\(place) is to be a text of 1 to 4096 bytes")
    }
    return text
  }
}
