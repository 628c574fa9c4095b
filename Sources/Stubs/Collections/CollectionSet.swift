package import Basics

/// The collections of an environment, and the changes of their items.
///
/// Their JSON form is that of json-server: a list is a collection at `/patients/{id}`, and an object is a single
/// resource at
/// `/profile`. An object with a `path` says more:
///
/// ```json
/// {"patients": [{"id": 1, "name": "Ann"}],
///  "profile": {"name": "Dr Grey"},
///  "appointments": {"path": "/patients/{patient}/appointments/{code}", "id": "code", "items": [],
///                   "schema": {"required": ["date"]}, "envelope": "data"}}
/// ```
package struct CollectionSet: Sendable {
  /// The most collections of an environment.
  package static let maximumCount = 1_000
  /// How many changes are kept, the newest ones.
  package static let keptChanges = 10_000
  /// About how many bytes of JSON the kept changes have.
  private static let keptSize = 64 << 20

  /// In the order of the file, or of addition.
  package private(set) var collections: [StubCollection] = []
  /// How many changes there were. A test that waits for a change compares it.
  package private(set) var changeCount = 0
  /// Grows with every change of items, and of the collections themselves.
  package private(set) var version = 0
  private var kept: [(change: CollectionChange, size: Int)] = []
  private var size = 0

  package init() {}

  /// Reads collections strictly: what is not known is an error with its place and the nearest name.
  ///
  /// - Parameter json: the content of a file.
  /// - Throws: ``CodedError`` of kind `broken`, with the place, such as `patients.items[2].id`.
  package init(_ json: JSON) throws(CodedError) {
    for member in try Members(json).json.object ?? [] where member.key != "$schema" {
      do throws(CodedError) {
        guard self[member.key] == nil else { throw CodedError(.broken, "occurs twice; keep one of them") }
        try add(Self.collection(member.key, member.value))
      } catch {
        throw error.moved(to: member.key)
      }
    }
  }

  private static let members = ["path", "id", "items", "item", "schema", "envelope"]

  private static func collection(_ name: String, _ json: JSON) throws(CodedError) -> StubCollection {
    if json["path"]?.string?.hasPrefix("/") == true { return try collection(name, described: json) }
    let path = "/\(name)"
    // What has to be escaped in a URL, or has a meaning there, can only be in a path that is given.
    guard name.wholeMatch(of: /[A-Za-z0-9._~\-]+/) != nil else {
      throw CodedError(.broken, #"the name cannot be a path; give one: {"path": "/…/{id}", "items": […]}"#)
    }
    switch json {
    case .array(let items):
      var collection = try StubCollection(name: name, path: path + "/{id}")
      for (number, item) in items.enumerated() {
        do { try collection.add(item) } catch { throw error.moved(to: "[\(number)]") }
      }
      return collection
    case .object(let given):
      // Not a resource by accident.
      if given.contains(where: { $0.key == "items" }), given.allSatisfy({ members.contains($0.key) }) {
        throw CodedError(
          .broken,
          "missing; add \"\(path)/{id}\" for a list, or write a resource with such members as {\"path\": \"\(path)\", \"item\": {…}}",
          at: "path")
      }
      do { return try StubCollection(name: name, path: path, item: json) } catch { throw error.moved(from: "item") }
    default:
      throw CodedError(.broken, "expected a list of items or an object, found \(json.text.prefix(60))")
    }
  }

  /// Reads one collection in the form with a `path`.
  ///
  /// - Throws: ``CodedError`` of kind `broken`, with the place, such as `items[2].id`.
  package static func collection(_ name: String, described json: JSON) throws(CodedError) -> StubCollection {
    let given = try Members(json)
    let path = try given.string("path") ?? ""
    let schema = given["schema"]
    let (item, id) = (given["item"], try given.string("id"))
    let items = try given.array("items")?.map(\.json)
    let envelope = try given.string("envelope")
    try given.end()
    guard let item else {
      return try StubCollection(
        name: name, path: path, id: id ?? "id", items: items ?? [], schema: schema, envelope: envelope)
    }
    for other in ["items", "id", "envelope"] where given[other] != nil {
      throw CodedError(.broken, "'item' is also given; a single resource has no '\(other)'", at: other)
    }
    return try StubCollection(name: name, path: path, item: item, schema: schema)
  }

  /// The collections in the form with a `path`, with their items.
  package var json: JSON { .object(collections.map { .init($0.name, $0.json) }) }

  /// What ``init(stored:)`` reads.
  package var stored: [UInt8] {
    JSON.array(
      collections.map { collection in
        var members: [JSON.Member] = [.init("name", .string(collection.name)), .init("collection", collection.json)]
        if let isInteger = collection.ids.areIntegers { members.append(.init("integers", .bool(isInteger))) }
        members.append(.init("greatest", .int(collection.ids.greatest)))
        return .object(members)
      }
    ).encoded()
  }

  /// Restores collections, their items and their order. New ids are those that would have followed.
  package init(stored: [UInt8]) throws(CodedError) {
    for json in try JSON.parse(stored).array ?? [] {
      let name = json["name"]?.string ?? ""
      var collection = try Self.collection(name, described: json["collection"] ?? .null)
      collection.ids.areIntegers = if case .bool(let isInteger) = json["integers"] { isInteger } else { nil }
      collection.ids.greatest = json["greatest"]?.int ?? 0
      try add(collection)
    }
  }

  // MARK: Collections

  /// The collection with a name.
  package subscript(_ name: String) -> StubCollection? { index(of: name).map { collections[$0] } }

  private func index(of name: String) -> Int? { collections.firstIndex { $0.name.hasSameBytes(as: name) } }

  /// Adds a collection, or replaces the one with the same name.
  package mutating func add(_ collection: StubCollection) throws(CodedError) {
    // A file may name its schema so.
    guard collection.name != "$schema", !collection.name.isEmpty else {
      throw CodedError(.usage, "'\(collection.name)' cannot be the name of a collection; use another one")
    }
    let index = index(of: collection.name)
    if let other = collections.first(where: {
      $0.shape == collection.shape && !$0.name.hasSameBytes(as: collection.name)
    }) {
      throw CodedError(.broken, "'\(other.name)' has the path '\(other.path)', too; use another one", at: "path")
    }
    if let index {
      version += 1
      forgetChanges(of: collection.name)
      return collections[index] = collection
    }
    guard collections.count < Self.maximumCount else {
      throw CodedError(.usage, "an environment can have at most \(Self.maximumCount) collections; remove some first")
    }
    version += 1
    collections.append(collection)
  }

  /// Removes a collection; returns false if there is none.
  @discardableResult
  package mutating func remove(_ name: String) -> Bool {
    guard let index = index(of: name) else { return false }
    version += 1
    forgetChanges(of: name)
    collections.remove(at: index)
    return true
  }

  // MARK: Items

  /// Stores an item in a collection; see ``StubCollection/put(_:makeID:)``.
  @discardableResult
  package mutating func put(
    _ item: JSON, in name: String, makeID: () throws(CodedError) -> String
  ) throws(CodedError) -> CollectionChange {
    note(try collections[try existing(name)].put(item, makeID: makeID))
  }

  /// Removes an item of a collection; nil if there is none.
  @discardableResult
  package mutating func remove(_ id: String, from name: String) throws(CodedError) -> CollectionChange? {
    collections[try existing(name)].remove(id).map { note($0) }
  }

  private func existing(_ name: String) throws(CodedError) -> Int {
    if let index = index(of: name) { return index }
    let near = EditDistance.likely(name, among: collections.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
    throw CodedError(.usage, "there is no collection '\(name.prefix(80))'\(near)")
  }

  // MARK: Requests

  /// Whether a path is one of a collection.
  package func mayAnswer(path: String) -> Bool { collections.contains { $0.specificity(of: path) != nil } }

  /// The answer of the collection whose path fits best: the one with the fewest names in braces.
  ///
  /// - Returns: the answer; nil if the path is not one of a collection.
  /// - Throws: ``CodedError``; see ``StubCollection/respond(to:makeID:)``.
  package mutating func respond(
    to request: StubRequest, makeID: () throws(CodedError) -> String
  ) throws(CodedError) -> CollectionAnswer? {
    var best: (index: Int, names: Int)?
    for (index, collection) in collections.enumerated() {
      guard let names = collection.specificity(of: request.path), names < best?.names ?? Int.max else { continue }
      best = (index, names)
    }
    guard let best else { return nil }
    var answer = try collections[best.index].respond(to: request, makeID: makeID)
    if let change = answer?.change { answer?.change = note(change) }
    return answer
  }

  // MARK: Changes

  /// The changes after a number, oldest first. Only the newest ``keptChanges`` are kept, or fewer if they are large,
  /// and none from before a collection was replaced or removed.
  ///
  /// - Parameters:
  ///   - count: a former value of ``changeCount``.
  ///   - name: the name of a collection; nil for all.
  /// - Returns: the changes.
  package func changes(after count: Int = 0, in name: String? = nil) -> [CollectionChange] {
    let new = kept.suffix(Self.keptChanges).reversed().prefix { $0.change.number > count }.reversed()
    return new.map(\.change).filter { name?.hasSameBytes(as: $0.collection) ?? true }
  }

  private mutating func forgetChanges(of name: String) {
    kept.removeAll { $0.change.collection.hasSameBytes(as: name) }
    size = kept.reduce(0) { $0 + $1.size }
  }

  /// Counts and keeps a change; returns it with its number.
  private mutating func note(_ change: CollectionChange) -> CollectionChange {
    changeCount += 1
    version += 1
    var change = change
    change.number = changeCount
    kept.append((change, change.size))
    size += kept.last?.size ?? 0
    // Not at every change, since the rest has to be moved.
    guard kept.count >= Self.keptChanges * 2 || size >= Self.keptSize * 2 else { return change }
    var count = 0
    while kept.count - count > Self.keptChanges || size > Self.keptSize {
      size -= kept[count].size
      count += 1
    }
    kept.removeFirst(count)
    return change
  }
}

extension StubCollection {
  /// The path without the names in braces: two collections cannot have the same.
  fileprivate var shape: [String] {
    path.split(separator: "/", omittingEmptySubsequences: false).map { $0.hasPrefix("{") ? "{}" : String($0) }
  }
}

extension CodedError {
  /// The same error without the first name of its place.
  fileprivate func moved(from outer: String) -> CodedError {
    guard place.hasPrefix(outer) else { return self }
    return CodedError(kind, problem, at: String(place.dropFirst(outer.count).drop { $0 == "." }))
  }
}
