package import Basics
import Cassettes
import Foundation
import HTTPMessages

/// A stubbed REST resource: items that requests list, read, create, change and remove.
///
/// ```swift
/// var patients = try StubCollection(name: "patients", path: "/patients/{id}", items: [ann])
/// let answer = try patients.respond(to: request) { UUID().uuidString }
/// patients["7"]
/// ```
///
/// In a nested path such as `/patients/{patient}/appointments/{id}`, the outer names are members of the items: a list shows
/// only items with the path's values, and new items get them. Ids are unique in the whole collection.
package struct StubCollection: Sendable {
  /// The most items of a collection.
  package static let maximumCount = 100_000
  /// The size in bytes of all items as JSON.
  package static let maximumSize = 16 << 20
  /// The maximum nesting of an item, that of values that ``JSON`` decodes.
  package static let maximumDepth = JSON.maximumDecodedDepth

  private struct Entry: Sendable {
    /// Counts additions.
    let number: Int
    let id: String
    var item: JSON
    var size: Int
    /// The ETag, in quotes.
    var tag: String
  }

  /// What a path means.
  private struct Place {
    /// Nil for the list, empty for a single resource.
    var id: String?
    /// The values of the outer names.
    var outer: [(name: String, value: Operand)]
  }

  package let name: String
  /// The path template of an item.
  package let path: String
  /// The name of the member that is the id.
  package let idMember: String
  /// Whether it is one object instead of a list.
  package let isSingular: Bool
  /// The member that wraps a list, beside `total`; nil for a plain array.
  package let envelope: String?

  private let schema: (source: JSON, rules: JSONSchema)?
  private let itemPath: PathTemplate
  private let listPath: PathTemplate?
  private let outerNames: [String]
  private let idName: String?

  /// In the order of addition.
  private var entries: [Entry] = []
  /// The numbers of entries by the UTF-8 of their ids.
  private var numbers: [[UInt8]: Int] = [:]
  private var additions = 0
  private var size = 0
  /// Whether ids are integers, as that of the first item is, nil before there is any; and the greatest of all so far.
  var ids: (areIntegers: Bool?, greatest: Int) = (nil, 0)

  /// Creates a collection.
  ///
  /// - Parameters:
  ///   - name: the name, for errors and changes.
  ///   - path: the path template of an item, such as `/patients/{id}`. It ends with the id in braces.
  ///   - id: the name of the member that is the id. Ids are texts or integers.
  ///   - items: the first items, objects with an id.
  ///   - schema: a JSON Schema that items have to fulfil.
  ///   - envelope: the member that wraps a list, as in `{"data": […], "total": 2}`.
  /// - Throws: ``CodedError`` with the place, such as `items[2].id`.
  package init(
    name: String, path: String, id: String = "id", items: [JSON] = [], schema: JSON? = nil, envelope: String? = nil
  ) throws(CodedError) {
    try self.init(name, path, id, isSingular: false, schema, envelope)
    for (number, item) in items.enumerated() {
      do { try add(item) } catch { throw error.moved(to: "items[\(number)]") }
    }
  }

  /// Creates a single resource, which can be read and changed, but not removed.
  ///
  /// - Parameters:
  ///   - name: the name, for errors and changes.
  ///   - path: the path, without names in braces.
  ///   - item: the resource, an object.
  ///   - schema: a JSON Schema that the resource has to fulfil.
  /// - Throws: ``CodedError`` with the place, such as `path`.
  package init(name: String, path: String, item: JSON, schema: JSON? = nil) throws(CodedError) {
    try self.init(name, path, "", isSingular: true, schema, nil)
    do { try put(item) { "" } } catch { throw error.moved(to: "item") }
  }

  private init(
    _ name: String, _ path: String, _ id: String, isSingular: Bool, _ schema: JSON?, _ envelope: String?
  ) throws(CodedError) {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    do { itemPath = try PathTemplate(path) } catch { throw error.moved(to: "path") }
    var names = segments.filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    guard path.hasPrefix("/") else { throw CodedError(.broken, "'\(path)' does not begin with '/'", at: "path") }
    guard Set(names).count == names.count else {
      throw CodedError(.broken, "'\(path)' has the same name twice", at: "path")
    }
    if isSingular {
      guard names.isEmpty else {
        throw CodedError(
          .broken, "the path of a single resource has no names in braces; use items for a list", at: "path")
      }
    } else {
      guard segments.count > 2, segments.last?.hasPrefix("{") == true else {
        throw CodedError(.broken, "'\(path)' does not end with the id in braces, such as /patients/{id}", at: "path")
      }
    }
    guard envelope != "total", envelope != "" else {
      throw CodedError(
        .broken, "'\(envelope ?? "")' cannot wrap the list; use another name, such as data", at: "envelope")
    }
    idName = names.popLast()
    outerNames = names
    guard isSingular || !id.isEmpty, !outerNames.contains(id) else {
      throw CodedError(.broken, "'\(id)' cannot be the id; name another member", at: "id")
    }
    do {
      listPath = isSingular ? nil : try PathTemplate(segments.dropLast().joined(separator: "/"))
      self.schema = try schema.map { schema throws(CodedError) in
        guard schema.isShallow else {
          throw CodedError(.broken, "arrays and objects are nested more than \(Self.maximumDepth) levels deep")
        }
        return (schema, try JSONSchema(schema))
      }
    } catch { throw error.moved(to: "schema") }
    self.name = name
    self.path = path
    idMember = id
    self.isSingular = isSingular
    self.envelope = envelope
  }

  // MARK: Items

  package var count: Int { entries.count }

  /// All items in the order of their creation.
  package var items: [JSON] { entries.map(\.item) }

  /// The item with an id, given as text; nil if there is none. For a single resource, the id is empty.
  package subscript(_ id: String) -> JSON? { position(of: id).map { entries[$0].item } }

  /// The collection as a file describes it, with its items.
  package var json: JSON {
    var members: [JSON.Member] = [.init("path", .string(path))]
    if isSingular {
      members += entries.map { .init("item", $0.item) }
    } else {
      members += [.init("id", .string(idMember)), .init("items", .array(items))]
    }
    if let schema { members.append(.init("schema", schema.source)) }
    if let envelope { members.append(.init("envelope", .string(envelope))) }
    return .object(members)
  }

  /// Stores an item: replaces the one with the same id, or creates one. An item without an id gets a new one.
  ///
  /// - Parameters:
  ///   - item: the item, an object.
  ///   - makeID: makes a text that is an id, usually a UUID. Not called if ids are integers: these are counted.
  /// - Returns: the change, with the id.
  /// - Throws: ``CodedError`` if the item is not valid, or the collection is full.
  @discardableResult
  package mutating func put(
    _ item: JSON, makeID: () throws(CodedError) -> String
  ) throws(CodedError) -> CollectionChange {
    guard var members = item.object else {
      throw CodedError(.broken, "expected an object, found \(item.text.prefix(60))")
    }
    if let flaw = item.flaw(maximumDepth: Self.maximumDepth) { throw CodedError(.broken, flaw) }
    let given = try givenID(members)
    let id = given == nil ? try identify(&members, makeID: makeID) : given ?? ""
    if let violation = try violations(in: .object(members)).first {
      throw CodedError(.broken, violation.detail, at: violation.pointer)
    }
    return try store(.object(members), as: id)
  }

  /// Adds one of the first items, which has to have an id of its own.
  mutating func add(_ item: JSON) throws(CodedError) {
    if let members = item.object {
      guard let given = members[idMember], given != .null else {
        throw CodedError(.broken, "missing; give each item an id", at: idMember)
      }
      if let id = Self.text(ofID: given), self[id] != nil {
        throw CodedError(.broken, "'\(id)' occurs twice; give each item its own id", at: idMember)
      }
    }
    try put(item) { "" }
  }

  /// Removes an item; nil if there is none. A single resource cannot be removed.
  @discardableResult
  package mutating func remove(_ id: String) -> CollectionChange? {
    guard !isSingular, let position = position(of: id) else { return nil }
    let entry = entries.remove(at: position)
    numbers[Array(id.utf8)] = nil
    size -= entry.size
    return CollectionChange(kind: .removed, collection: name, id: id, item: entry.item, old: entry.item)
  }

  private func position(of id: String) -> Int? {
    guard let number = numbers[Array(id.utf8)] else { return nil }
    var (low, high) = (0, entries.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func store(_ item: JSON, as id: String) throws(CodedError) -> CollectionChange {
    let bytes = item.encoded()
    let position = position(of: id)
    let newSize = size + bytes.count - (position.map { entries[$0].size } ?? 0)
    guard newSize <= Self.maximumSize else {
      throw CodedError(
        .usage, "the collection '\(name)' would have more than \(Self.maximumSize) bytes of JSON; remove items first")
    }
    guard position != nil || entries.count < Self.maximumCount else {
      throw CodedError(
        .usage, "the collection '\(name)' can have at most \(Self.maximumCount) items; remove some first")
    }
    size = newSize
    let old = position.map { entries[$0].item }
    let tag = Self.tag(of: bytes)
    if let position {
      entries[position].item = item
      entries[position].size = bytes.count
      entries[position].tag = tag
    } else {
      numbers[Array(id.utf8)] = additions
      entries.append(Entry(number: additions, id: id, item: item, size: bytes.count, tag: tag))
      additions += 1
      let integer = item.object?[idMember]?.int
      if ids.areIntegers == nil { ids.areIntegers = integer != nil }
      ids.greatest = max(ids.greatest, integer ?? 0)
    }
    return CollectionChange(
      kind: position == nil ? .created : .replaced, collection: name, id: id, item: item, old: old)
  }

  private static func tag(of bytes: [UInt8]) -> String {
    var hash = SipHash()
    bytes.withUnsafeBytes { hash.append($0) }
    let (first, second) = hash.finish()
    return String(format: "\"%016lx%016lx\"", UInt(first), UInt(second))
  }

  /// The text of an id; nil if it is neither a text nor an integer.
  private static func text(ofID value: JSON) -> String? {
    if let text = value.string { return text.isEmpty ? nil : text }
    return value.int.map(String.init)
  }

  /// The id of an item; nil if it has none.
  private func givenID(_ members: [JSON.Member]) throws(CodedError) -> String? {
    if isSingular { return "" }
    guard let given = members[idMember], given != .null else { return nil }
    if let id = Self.text(ofID: given) { return id }
    throw CodedError(
      .broken, "expected a text or an integer, found \(given.text.prefix(60))", at: "/\(JSONPointer.escaped(idMember))")
  }

  /// Gives an item a new id.
  private func identify(
    _ members: inout [JSON.Member], makeID: () throws(CodedError) -> String
  ) throws(CodedError) -> String {
    members[idMember] = nil
    if ids.areIntegers == true {
      guard ids.greatest < Int.max else {
        throw CodedError(.usage, "no integer is left for an id of '\(name)'; give the item an id")
      }
      members.insert(.init(idMember, .int(ids.greatest + 1)), at: 0)
      return String(ids.greatest + 1)
    }
    for _ in 0..<100 {
      let id = try makeID()
      guard !id.isEmpty, self[id] == nil else { continue }
      members.insert(.init(idMember, .string(id)), at: 0)
      return id
    }
    throw CodedError(.usage, "100 new ids of '\(name)' were empty or in use; give the item an id")
  }

  /// What the schema does not allow in an item.
  private func violations(in item: JSON) throws(CodedError) -> [CollectionViolation] {
    guard let schema else { return [] }
    // More would not be read.
    return try schema.rules.problems(in: item).prefix(100).map { problem in
      CollectionViolation(pointer: problem.place, detail: Self.detail(problem, item, schema.source))
    }
  }

  private static func detail(_ problem: JSONSchema.Problem, _ item: JSON, _ schema: JSON) -> String {
    guard let pointer = try? JSONPointer(problem.place) else {
      return "not allowed by '\(problem.keyword)' of the schema"
    }
    // Where references and alternatives hide the rule, its name is all there is.
    var rules: JSON? = schema
    for token in pointer.tokens { rules = rules?["properties"]?[token] ?? rules?["items"] }
    let value = item[pointer]
    switch (problem.keyword, rules?[problem.keyword]) {
    case ("required", let names?):
      let missing = (names.array ?? []).compactMap(\.string).filter { value?.object?[$0] == nil }
      return "missing: \(missing.joined(separator: ", "))"
    case ("type", let type?):
      return
        "expected \((type.array ?? [type]).map(\.text).joined(separator: " or ")), found \((value ?? .null).text.prefix(60))"
    case ("false", _): return "the schema does not allow this member"
    case (let keyword, let rule?): return "does not fulfil '\(keyword)': \(rule.text.prefix(200))"
    case (let keyword, nil): return "does not fulfil '\(keyword)' of the schema"
    }
  }

  // MARK: Requests

  /// How many names of the template a path has values for; nil if the path is not the collection's.
  func specificity(of path: String) -> Int? {
    guard let place = place(of: path) else { return nil }
    return place.outer.count + (place.id?.isEmpty == false ? 1 : 0)
  }

  private func place(of path: String) -> Place? {
    var id: String?
    let values: [String: String]
    if let found = itemPath.values(in: path) {
      values = found
      id = idName.flatMap { found[$0] } ?? ""
    } else if let found = listPath?.values(in: path) {
      values = found
    } else {
      return nil
    }
    return Place(id: id, outer: outerNames.map { ($0, Operand(values[$0] ?? "")) })
  }

  /// The answer to a request, which may change items.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - makeID: makes the id of a new item, usually a UUID from the environment's string store. Not called if ids are
  ///     integers: these are counted.
  /// - Returns: the answer; nil if the path is not the collection's. A mistake of the client is an answer, too.
  /// - Throws: ``CodedError`` from `makeID`, or if the schema takes too many steps.
  package mutating func respond(
    to request: StubRequest, makeID: () throws(CodedError) -> String
  ) throws(CodedError) -> CollectionAnswer? {
    guard let place = place(of: request.path) else { return nil }
    var answer: CollectionAnswer
    do throws(CollectionRefusal) { answer = try perform(request, place, makeID) } catch {
      switch error {
      case .answer(let refusal): answer = refusal
      case .failure(let failure): throw failure
      }
    }
    if request.method == "HEAD" {
      if answer.status != 304 { answer.headers.set("Content-Length", String(answer.body.count)) }
      answer.body = []
    }
    return answer
  }

  private mutating func perform(
    _ request: StubRequest, _ place: Place, _ makeID: () throws(CodedError) -> String
  ) throws(CollectionRefusal) -> CollectionAnswer {
    let methods =
      place.id == nil
      ? ["GET", "HEAD", "POST", "OPTIONS"]
      : ["GET", "HEAD", "PUT", "PATCH"] + (isSingular ? [] : ["DELETE"]) + ["OPTIONS"]
    var allow: Headers = ["Allow": methods.joined(separator: ", ")]
    if place.id != nil { allow.append("Accept-Patch", Self.patchTypes) }
    switch (request.method, place.id) {
    case ("OPTIONS", _): return CollectionAnswer(204, headers: allow)
    case ("GET", nil), ("HEAD", nil): return try list(request, place)
    case ("POST", nil): return try create(request, place, makeID)
    case ("GET", let id?), ("HEAD", let id?):
      let entry = entries[try existing(id, place)]
      let isUnchanged = try check(request, entry.tag, isRead: true)
      return CollectionAnswer(
        isUnchanged ? 304 : 200, headers: ["ETag": entry.tag], json: isUnchanged ? nil : entry.item)
    case ("PUT", let id?): return try replace(request, place, id)
    case ("PATCH", let id?): return try patch(request, place, id)
    case ("DELETE", let id?) where !isSingular:
      try check(request, entries[try existing(id, place)].tag)
      return CollectionAnswer(204, change: remove(id))
    default:
      let what = isSingular ? "'\(name)'" : place.id == nil ? "the list of '\(name)'" : "an item of '\(name)'"
      throw .problem(
        405, "\(request.method.prefix(40)) is not allowed for \(what); use \(methods.joined(separator: ", "))",
        headers: allow)
    }
  }

  private static let patchTypes = "application/merge-patch+json, application/json-patch+json, application/json"

  private func list(_ request: StubRequest, _ place: Place) throws(CollectionRefusal) -> CollectionAnswer {
    let query: CollectionQuery
    do {
      query = try CollectionQuery(request.query) { name in entries.contains { $0.item.object?[name] != nil } }
    } catch { throw .problem(400, error.message) }
    let selection = query.select(entries.lazy.map(\.item).filter { Self.isIn(place, $0) })
    var headers: Headers = ["X-Total-Count": String(selection.total)]
    if let page = selection.page { headers.append("Link", CollectionQuery.links(request, page: page)) }
    let items = JSON.array(selection.items)
    let wrapped = envelope.map { JSON.object([.init($0, items), .init("total", .int(selection.total))]) }
    return CollectionAnswer(200, headers: headers, json: wrapped ?? items)
  }

  private mutating func create(
    _ request: StubRequest, _ place: Place, _ makeID: () throws(CodedError) -> String
  ) throws(CollectionRefusal) -> CollectionAnswer {
    var members = try object(in: request)
    try nest(&members, place, like: nil)
    var id: String?
    do { id = try givenID(members) } catch {
      throw Self.invalid([CollectionViolation(pointer: error.place, detail: error.problem)])
    }
    if let id, self[id] != nil {
      throw .problem(
        409,
        "an item of '\(name)' with the id '\(id)' exists; leave out the id to get a new one, or change the item with PUT"
      )
    }
    if id == nil { do { id = try identify(&members, makeID: makeID) } catch { throw .failure(error) } }
    var answer = try stored(members, id ?? "")
    answer.headers.append("Location", "\(request.path)/\(Self.escaped(id ?? ""))")
    return answer
  }

  private mutating func replace(
    _ request: StubRequest, _ place: Place, _ id: String
  ) throws(CollectionRefusal) -> CollectionAnswer {
    let position = position(of: id)
    let old = position.map { entries[$0] }
    guard old.map({ Self.isIn(place, $0.item) }) ?? true else {
      throw .problem(409, "the id '\(id)' belongs to an item of '\(name)' at another path; use another id")
    }
    try checkType(request, ["application/json"])
    try check(request, old?.tag)
    var members = try object(in: request)
    if !isSingular, (members[idMember] ?? .null) == .null {
      members[idMember] = nil
      members.insert(.init(idMember, old?.item[idMember] ?? newID(id)), at: 0)
    }
    try checkID(.object(members), id)
    try nest(&members, place, like: old?.item)
    return try stored(members, id)
  }

  private mutating func patch(
    _ request: StubRequest, _ place: Place, _ id: String
  ) throws(CollectionRefusal) -> CollectionAnswer {
    let entry = entries[try existing(id, place)]
    let type = try checkType(
      request, ["application/json", "application/merge-patch+json", "application/json-patch+json"])
    try check(request, entry.tag)
    let body = try json(in: request)
    let result: JSON
    if type == "application/json-patch+json" {
      let patch: JSONPatch
      do { patch = try JSONPatch(body) } catch { throw .problem(400, "not a JSON Patch: \(error.message)") }
      do { result = try patch.apply(to: entry.item) } catch {
        if error.kind == .usage { throw .problem(422, error.message) }
        throw .problem(
          409, "the JSON Patch does not fit the item: \(error.message); GET the item for its current state")
      }
    } else {
      guard body.object != nil else {
        throw .problem(
          400, "a merge patch is an object with the members to change; send a JSON Patch as application/json-patch+json"
        )
      }
      result = entry.item.merging(body)
    }
    guard let members = result.object else {
      throw .problem(422, "the patch makes the item something other than an object")
    }
    if let flaw = result.flaw(maximumDepth: Self.maximumDepth) {
      throw .problem(422, "the patch makes the item invalid: \(flaw)")
    }
    try checkID(result, id)
    var nested = members
    try nest(&nested, place, like: entry.item)
    var answer = try stored(members, id)
    answer.change?.kind = .patched
    return answer
  }

  /// Validates and stores an item, and answers with it.
  private mutating func stored(_ members: [JSON.Member], _ id: String) throws(CollectionRefusal) -> CollectionAnswer {
    let item = JSON.object(members)
    let change: CollectionChange
    do {
      let violations = try violations(in: item)
      guard violations.isEmpty else { throw Self.invalid(violations) }
      change = try store(item, as: id)
    } catch let refusal as CollectionRefusal {
      throw refusal
    } catch let error as CodedError {
      throw error.kind == .usage ? .problem(507, error.message) : .failure(error)
    } catch {
      throw .failure(CodedError(.broken, "\(error)"))
    }
    let tag = position(of: id).map { entries[$0].tag } ?? ""
    return CollectionAnswer(change.kind == .created ? 201 : 200, headers: ["ETag": tag], json: item, change: change)
  }

  // MARK: Parts of requests

  private func existing(_ id: String, _ place: Place) throws(CollectionRefusal) -> Int {
    if let position = position(of: id), Self.isIn(place, entries[position].item) { return position }
    throw .problem(404, "no item of '\(name)' has the id '\(id)' here; GET the list for those that exist")
  }

  /// Whether an item has the values of the outer names.
  private static func isIn(_ place: Place, _ item: JSON) -> Bool {
    place.outer.allSatisfy { outer in item.object?[outer.name].map(outer.value.equals) ?? false }
  }

  /// Adds the outer names' values to an item, which may not have others.
  private func nest(_ members: inout [JSON.Member], _ place: Place, like old: JSON?) throws(CollectionRefusal) {
    var violations: [CollectionViolation] = []
    for (name, value) in place.outer {
      guard let given = members[name] else {
        // Of the same kind as in other items.
        members.append(.init(name, value.value(like: (old ?? entries.first?.item)?[name])))
        continue
      }
      if !value.equals(given) {
        violations.append(
          CollectionViolation(
            pointer: "/\(JSONPointer.escaped(name))", detail: "does not have the value of the path; leave it out"))
      }
    }
    guard violations.isEmpty else { throw Self.invalid(violations) }
  }

  private func checkID(_ item: JSON, _ id: String) throws(CollectionRefusal) {
    guard !isSingular, item[idMember].flatMap(Self.text(ofID:)).map({ !$0.hasSameBytes(as: id) }) ?? true else {
      return
    }
    let pointer = "/\(JSONPointer.escaped(idMember))"
    throw Self.invalid([CollectionViolation(pointer: pointer, detail: "the id of an item cannot change; use '\(id)'")])
  }

  /// The id of a path as a value of an item.
  private func newID(_ text: String) -> JSON {
    guard ids.areIntegers == true, let number = Int(text), String(number) == text else { return .string(text) }
    return .int(number)
  }

  private static func invalid(_ violations: [CollectionViolation]) -> CollectionRefusal {
    .problem(422, "the item is not valid; 'errors' lists what to change", violations: violations)
  }

  /// Checks the conditions of a request; returns whether the client has the current version already.
  @discardableResult
  private func check(_ request: StubRequest, _ tag: String?, isRead: Bool = false) throws(CollectionRefusal) -> Bool {
    let status = CollectionConditions(request.headers).status(for: tag, isRead: isRead)
    guard status == 412 else { return status == 304 }
    throw .problem(
      412, tag == nil ? "the item does not exist" : "the item has changed; GET it again for its ETag",
      headers: tag.map { ["ETag": $0] } ?? [:])
  }

  /// The media type of a request's body, without its parameters.
  @discardableResult
  private func checkType(_ request: StubRequest, _ types: [String]) throws(CollectionRefusal) -> String {
    guard let given = request.headers["Content-Type"] else { return "application/json" }
    let type = given.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    if types.contains(type) { return type }
    // Such as application/vnd.api+json.
    if types.count == 1, type.hasSuffix("+json") { return "application/json" }
    throw .problem(
      415, "the body has the type '\(given.prefix(80))'; send \(types.joined(separator: " or "))",
      headers: request.method == "PATCH" ? ["Accept-Patch": Self.patchTypes] : [:])
  }

  private func object(in request: StubRequest) throws(CollectionRefusal) -> [JSON.Member] {
    try checkType(request, ["application/json"])
    guard let members = try json(in: request).object else {
      throw .problem(400, "the body is not a JSON object; send one item at a time")
    }
    return members
  }

  private func json(in request: StubRequest) throws(CollectionRefusal) -> JSON {
    guard !request.content.isEmpty else { throw .problem(400, "the body is empty; send JSON") }
    guard request.content.count <= Self.maximumSize else {
      throw .problem(413, "the body has more than \(Self.maximumSize) bytes; send less")
    }
    let json: JSON
    do { json = try JSON.parse(request.content) } catch { throw .problem(400, "the body is not valid JSON: \(error)") }
    if let flaw = json.flaw(maximumDepth: Self.maximumDepth) { throw .problem(400, "the body cannot be used: \(flaw)") }
    return json
  }

  /// An id as a segment of a path.
  private static func escaped(_ id: String) -> String {
    id.utf8.map { byte in
      PercentCoding.isUnreserved(byte) ? String(Unicode.Scalar(byte)) : String(format: "%%%02X", byte)
    }.joined()
  }
}

extension CodedError {
  /// The same error in a part of something: the place is put in front of the error's own.
  func moved(to outer: String) -> CodedError {
    // A JSON pointer becomes a path of names.
    let place = place.hasPrefix("/") ? String(place.dropFirst()).replacing("/", with: ".") : place
    let inner = place.isEmpty || place.hasPrefix("[") ? place : ".\(place)"
    return CodedError(kind, problem, at: outer.isEmpty ? place : outer + inner)
  }
}
