import Basics
import Foundation

/// Items that an environment lists, returns, creates, changes and deletes for the app, as a backend with a database does.
///
/// ```swift
/// let patients = try await environment.collection("patients", at: "/patients/{id}", items: [Patient(id: "7", name: "Ann")])
///
/// try await app.launch()  // sends PATCH /patients/7
/// #expect(try await patients["7"]?.name == "Anna")
/// ```
public struct ItemCollection<Item: Codable & Sendable>: Sendable {
  let environment: TestEnvironment
  /// The name of the collection.
  public let name: String

  /// The items in the order of their creation.
  public var items: [Item] {
    get async throws(DioramaTestingError) {
      let collection = try await environment.admin("GET", path(), nil)
      var items: [Item] = []
      for item in collection["items"]?.array ?? [] { items.append(try decode(item)) }
      return items
    }
  }

  /// The item with an id; nil if there is none. Give the text of an id that is a number.
  public subscript(id: String) -> Item? {
    get async throws(DioramaTestingError) {
      // Never the path of the collection.
      guard !id.isEmpty else { return nil }
      return try await environment.adminIfPresent("GET", path(id), nil).map { item throws(DioramaTestingError) in
        try decode(item)
      }
    }
  }

  /// Stores an item: replaces the one with the same id, or creates it.
  ///
  /// - Parameter item: the item. One encoded without an id gets a new one: the next number, or a UUID from the seed.
  /// - Returns: the stored item.
  /// - Throws: ``DioramaTestingError`` if the item is not valid, or the environment cannot be reached.
  @discardableResult
  public func put(_ item: Item) async throws(DioramaTestingError) -> Item {
    try decode(try await environment.admin("POST", path(), try TestEnvironment.Value(item).content.get()))
  }

  /// Removes an item.
  ///
  /// - Parameter id: its id, as text.
  /// - Returns: the removed item; nil if there is none.
  /// - Throws: ``DioramaTestingError`` if the environment cannot be reached.
  @discardableResult
  public func remove(_ id: String) async throws(DioramaTestingError) -> Item? {
    guard !id.isEmpty else { return nil }
    return try await environment.adminIfPresent("DELETE", path(id), nil).map { item throws(DioramaTestingError) in
      try decode(item)
    }
  }

  /// Removes the collection. Later requests are answered by other stubs, the cassette or the upstream.
  ///
  /// - Throws: ``DioramaTestingError`` if it was removed before, or the environment cannot be reached.
  public func remove() async throws(DioramaTestingError) {
    _ = try await environment.admin("DELETE", path(), nil)
  }

  func path(_ id: String? = nil) -> String {
    "/collections/"
      + [name, id].compactMap(\.self).map { part in
        part.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? part
      }.joined(separator: "/")
  }

  func decode(_ json: JSON) throws(DioramaTestingError) -> Item {
    do { return try JSONDecoder().decode(Item.self, from: Data(json.encoded())) } catch {
      throw DioramaTestingError(.usage, "an item of the collection '\(name)' is not a valid \(Item.self): \(error)")
    }
  }
}

extension TestEnvironment {
  /// Serves a collection of items. The app lists them at the path without its last part, with filters, `_sort`, `_page`
  /// and `_limit`, and gets, creates, replaces, patches and deletes them one by one.
  ///
  /// ```swift
  /// let visits = try await environment.collection(
  ///   "visits", of: Visit.self, at: "/patients/{patient}/visits/{code}", id: \.code)
  /// ```
  ///
  /// Stubs answer before collections, and collections before the cassette and the upstream. A collection with the same
  /// name is replaced.
  ///
  /// - Parameters:
  ///   - name: the name of the collection.
  ///   - type: the type of the items, encoded by a `JSONEncoder` with default settings.
  ///   - path: the path of an item, which ends with the id in braces.
  ///   - id: the JSON member that is the id, a string or a whole number.
  ///   - items: the first items. If their ids are numbers, so are new ones; otherwise, and without items, new ids are
  ///     UUIDs.
  /// - Returns: the collection, for reading and changing it while the app runs.
  /// - Throws: ``DioramaTestingError`` if the path or an item is not valid, or the environment cannot be reached.
  public func collection<Item: Codable & Sendable>(
    _ name: String, of type: Item.Type = Item.self, at path: String, id: KeyPath<JSONPlace, JSONPlace> = \.id,
    items: [Item] = []
  ) async throws(DioramaTestingError) -> ItemCollection<Item> {
    let place = JSONPlace()[keyPath: id]
    guard let member = place.name, place.path == JSONPlace()[dynamicMember: member].path else {
      throw DioramaTestingError(.usage, "the id of the collection '\(name)' has to be a member, such as \\.id")
    }
    let collection = ItemCollection<Item>(environment: self, name: name)
    let description: [JSON.Member] = [
      .init("path", .string(path)), .init("id", .string(member)), .init("items", try Value(items).content.get()),
    ]
    _ = try await admin("PUT", collection.path(), .object(description))
    return collection
  }
}
