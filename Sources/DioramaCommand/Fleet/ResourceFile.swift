import Basics
import ControlAPI
import Foundation

/// A file of resources for `diorama pool import`: CSV (RFC 4180) or JSON.
///
/// ```csv
/// name,plan,secret:password
/// anna,premium,s3cret
/// ```
struct ResourceFile {
  let resources: [PoolResource]

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - bytes: its content. JSON begins with `[` or `{`.
  ///   - name: the file, for errors.
  /// - Throws: ``CodedError`` that names the line at fault.
  init(_ bytes: [UInt8], name: String) throws(CodedError) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CodedError(.broken, "\(name) is not UTF-8; convert it")
    }
    let first = text.unicodeScalars.first { !"\u{FEFF} \t\r\n".unicodeScalars.contains($0) }
    resources = first == "[" || first == "{" ? try Self.json(bytes, name) : try Self.csv(text, name)
    guard !resources.isEmpty else { throw CodedError(.broken, "\(name) has no resources") }
    var seen: Set<String> = []
    for (index, resource) in resources.enumerated() {
      func failure(_ problem: String) -> CodedError {
        CodedError(.broken, "\(name): resource \(index + 1): \(problem)")
      }
      guard !resource.name.isEmpty, resource.name.count <= 200, !resource.name.contains(where: \.isNewline) else {
        throw failure("its name must be a single line of 1 to 200 characters")
      }
      let all = [resource.name] + (resource.attributes ?? [:]).keys + (resource.secrets ?? [:]).keys
      if let spaced = all.first(where: { $0.isEmpty || $0 != $0.trimmingCharacters(in: .whitespaces) }) {
        throw failure("the name '\(spaced)' is empty, or begins or ends with a space; remove it")
      }
      if let column = (resource.attributes ?? [:]).keys.sorted().first(where: { $0.lowercased().hasPrefix("secret:") })
      {
        throw failure("'\(column)' would not be secret; write secret: in lower case")
      }
      guard seen.insert(resource.name).inserted else { throw failure("'\(resource.name)' is given twice") }
      let names = Array((resource.attributes ?? [:]).keys) + Array((resource.secrets ?? [:]).keys)
      if let twice = Set(names).sorted().first(where: { name in names.count { $0 == name } > 1 }) {
        throw failure("'\(twice)' is both an attribute and a secret; rename one")
      }
      guard !names.contains("name") else { throw failure("'name' is the resource's own name; rename the attribute") }
    }
  }

  private static func json(_ bytes: [UInt8], _ name: String) throws(CodedError) -> [PoolResource] {
    if let list = try? JSON.decode(PoolResources.self, from: Data(bytes), source: name) { return list.resources }
    return try JSON.decode([PoolResource].self, from: Data(bytes), source: name)
  }

  /// The column `name` has the names, columns `secret:NAME` have secrets, all others attributes. Empty fields are left out.
  private static func csv(_ text: String, _ name: String) throws(CodedError) -> [PoolResource] {
    var rows = try CSVRows(text, name: name).rows
    guard !rows.isEmpty else { return [] }
    let header = rows.removeFirst().fields.map { $0.trimmingCharacters(in: .whitespaces) }
    guard let own = header.firstIndex(of: "name") else {
      throw CodedError(
        .broken,
        "\(name): line 1 has no column 'name', but \(header.joined(separator: " and ").prefix(200)); begin with a line such as: "
          + "name,plan,secret:password")
    }
    if let twice = header.first(where: { column in header.count { $0 == column } > 1 }) {
      throw CodedError(.broken, "\(name): line 1 has the column '\(twice)' twice")
    }
    var resources: [PoolResource] = []
    for row in rows {
      guard row.fields.count == header.count else {
        throw CodedError(.broken, "\(name): line \(row.line) has \(row.fields.count) fields, not \(header.count)")
      }
      var resource = PoolResource(name: row.fields[own], attributes: [:], secrets: [:])
      for (column, value) in zip(header, row.fields) where column != "name" && !value.isEmpty {
        if column.hasPrefix("secret:") {
          resource.secrets?[String(column.dropFirst(7))] = value
        } else {
          resource.attributes?[column] = value
        }
      }
      resources.append(resource)
    }
    return resources
  }
}

extension ResourceFile {
  /// The names of attributes and of secrets that occur.
  var columns: (attributes: [String], secrets: [String]) {
    (
      Set(resources.flatMap { ($0.attributes ?? [:]).keys }).sorted(),
      Set(resources.flatMap { ($0.secrets ?? [:]).keys }).sorted()
    )
  }

  /// Attributes that are probably secret.
  var suspicious: [String] {
    let words = ["password", "passwd", "passphrase", "secret", "token", "pin", "otp", "apikey", "api_key", "api-key"]
    return columns.attributes.filter { words.contains($0.lowercased()) }
  }
}

/// The rows of a CSV text (RFC 4180), without empty lines.
struct CSVRows {
  struct Row: Equatable {
    /// The number of its first line, from 1.
    var line: Int
    var fields: [String]
  }

  private(set) var rows: [Row] = []

  /// - Throws: ``CodedError`` for a quotation mark that is not closed, or that is inside of a field.
  init(_ text: String, name: String) throws(CodedError) {
    var line = 1
    var row = Row(line: 1, fields: [])
    var field = String.UnicodeScalarView()
    var isQuoted = false
    var wasQuoted = false
    func failure(_ problem: String) -> CodedError { CodedError(.broken, "\(name): line \(line): \(problem)") }
    var scalars = text.unicodeScalars[...]
    if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
    func endField() {
      row.fields.append(String(field))
      field = String.UnicodeScalarView()
      wasQuoted = false
    }
    func endRow() {
      endField()
      if row.fields != [""] { rows.append(row) }
      row = Row(line: line + 1, fields: [])
    }
    while let scalar = scalars.popFirst() {
      if isQuoted {
        if scalar == "\"", scalars.first == "\"" {
          scalars.removeFirst()
          field.append(scalar)
        } else if scalar == "\"" {
          isQuoted = false
          wasQuoted = true
        } else {
          if scalar == "\n" { line += 1 }
          field.append(scalar)
        }
        continue
      }
      switch scalar {
      case ",": endField()
      case "\r" where scalars.first == "\n": continue
      case "\n", "\r":
        endRow()
        line += 1
      case "\"":
        guard field.isEmpty, !wasQuoted else {
          throw failure("a quotation mark inside of a field; put the field in quotation marks, and double those in it")
        }
        isQuoted = true
      default:
        guard !wasQuoted else { throw failure("text after the closing quotation mark of a field") }
        field.append(scalar)
      }
    }
    guard !isQuoted else { throw failure("a quotation mark is not closed") }
    endRow()
  }
}
