import Basics
import CucumberExpressions
import Foundation

/// The table below a step, for a closure that reads it itself.
///
/// Most closures take an array of `Decodable` values instead: `{ (appointments: [Appointment]) in … }`. The first row
/// holds the property names, as in code (`startTime`) or as words (`start time`); empty cells are nil for optional
/// properties.
public struct DataTable: Sendable, Hashable {
  /// All rows, including the first.
  public let rows: [[String]]

  /// Creates a table.
  public init(rows: [[String]]) { self.rows = rows }

  /// The rows after the first, as dictionaries whose keys are the cells of the first row.
  public var hashes: [[String: String]] {
    rows.dropFirst().map { row in Dictionary(zip(rows[0], row)) { _, last in last } }
  }

  /// The rows after the first as values.
  ///
  /// - Parameter type: the type of a row.
  /// - Returns: the values.
  /// - Throws: an error that names the row and the column.
  public func rows<Row: Decodable>(as type: Row.Type) throws -> [Row] {
    guard let names = rows.first else { return [] }
    return try rows.enumerated().dropFirst().map { index, row in
      do { return try Row(from: RowDecoder(names: names, cells: row)) } catch let error as DecodingError {
        throw ScenarioError("row \(index + 1) of the table: \(error.cellProblem)")
      } catch { throw ScenarioError("row \(index + 1) of the table: \(error)") }
    }
  }

  /// The table as the type of a closure's parameter.
  func decoded<Value>(as type: Value.Type) throws -> Value {
    if let value = self as? Value { return value }
    // The rows as they are.
    if let value = rows as? Value { return value }
    if type == [[String: String]].self, let value = hashes as? Value { return value }
    if let list = type as? any TableDecodable.Type, let value = try list.decoded(from: self) as? Value { return value }
    throw ScenarioError("the step's table cannot be converted to \(type); use an array of a Decodable type")
  }
}

/// The doc string below a step, for a closure that needs its media type. Other closures take a `String`, or a `Decodable` value
/// if it is written as JSON.
public struct DocString: Sendable, Hashable {
  /// The text, without its indentation.
  public let content: String
  /// What follows the opening delimiter, such as `json`.
  public let mediaType: String?

  /// Creates a doc string.
  public init(content: String, mediaType: String? = nil) {
    self.content = content
    self.mediaType = mediaType
  }

  func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    do { return try JSON.decode(type, from: Data(content.utf8), source: "the doc string") } catch {
      throw ScenarioError(error.message)
    }
  }
}

private protocol TableDecodable {
  static func decoded(from table: DataTable) throws -> Self
}

extension Optional: TableDecodable {
  fileprivate static func decoded(from table: DataTable) throws -> Self { try table.decoded(as: Wrapped.self) }
}

extension Array: TableDecodable where Element: Decodable {
  fileprivate static func decoded(from table: DataTable) throws -> [Element] {
    // A column of numbers has no name. A type that is written as one cell, such as an enum, is no row either.
    let isCell =
      Element.self is any LosslessStringConvertible.Type || Element.self is any CaseIterable.Type
      || Element.self is any RawRepresentable.Type || Element.self == Decimal.self
    guard isCell else { return try table.rows(as: Element.self) }
    guard table.rows.allSatisfy({ $0.count == 1 }) else {
      throw ScenarioError("the closure takes a list, but the table has more than one column; use [[String]]")
    }
    return try table.rows.enumerated().map { index, row in
      do throws(ExpressionError) { return try row[0].converted(to: Element.self) } catch {
        throw ScenarioError("row \(index + 1) of the table: \(error.message)")
      }
    }
  }
}

extension DecodingError {
  fileprivate var cellProblem: String {
    switch self {
    case .keyNotFound(let key, _): "there is no column '\(key.stringValue)'"
    case .valueNotFound(_, let context): "'\(context.codingPath.last?.stringValue ?? "")' is empty"
    case .typeMismatch(_, let context), .dataCorrupted(let context): context.debugDescription
    @unknown default: "\(self)"
    }
  }
}

/// Decodes a value from a row of a table.
private struct RowDecoder: Decoder {
  /// By the name of the column without spaces, hyphens and underscores, in lower case.
  let cells: [String: String]
  /// The names as they were written.
  let names: [String]
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(names: [String], cells: [String]) {
    self.names = names
    self.cells = Dictionary(zip(names.map(Self.bare), cells)) { _, last in last }
  }

  /// 'Start time', 'start-time' and 'startTime' are the same name.
  static func bare(_ name: String) -> String { name.filter { !" -_".contains($0) }.lowercased() }

  func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container<Key>(cells: cells, names: names))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "a row has named cells"))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard cells.count == 1, let cell = cells.first else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "a row of a list must have one cell; it has \(cells.count)"))
    }
    return CellDecoder(cell: cell.value, codingPath: [])
  }

  private struct Container<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let cells: [String: String]
    let names: [String]
    let codingPath: [any CodingKey] = []
    var allKeys: [Key] { names.compactMap(Key.init(stringValue:)) }

    func cell(_ key: Key) throws -> String {
      guard let cell = cells[RowDecoder.bare(key.stringValue)] else {
        throw DecodingError.keyNotFound(key, .init(codingPath: [key], debugDescription: ""))
      }
      return cell
    }

    func contains(_ key: Key) -> Bool { cells[RowDecoder.bare(key.stringValue)] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try cell(key).isEmpty }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try CellDecoder(cell: cell(key), codingPath: [key]).decode(type)
    }
    func superDecoder() throws -> any Decoder { throw unsupported }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw unsupported }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw unsupported }
    func nestedContainer<Nested>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw unsupported }
    private var unsupported: DecodingError {
      .dataCorrupted(.init(codingPath: [], debugDescription: "a cell holds one value"))
    }
  }
}

/// Decodes a value from a cell.
private struct CellDecoder: Decoder, SingleValueDecodingContainer {
  let cell: String
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do { return try cell.converted(to: type) } catch {
      let name = codingPath.last.map { "column '\($0.stringValue)': " } ?? ""
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: name + error.message))
    }
  }

  func decodeNil() -> Bool { cell.isEmpty }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw unsupported }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unsupported }
  private var unsupported: DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: "a cell holds one value"))
  }
}
