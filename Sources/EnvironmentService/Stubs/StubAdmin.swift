import Basics
import Foundation
import HTTPMessages
import LaunchContract
import Stubs

/// WireMock's admin API (wiremock.org/docs/standalone/admin-api-reference) on an environment's main port.
///
/// No token is asked for, as WireMock's clients send none; requests have to come from a program on this machine.
struct StubAdmin {
  static let path = "/__admin"
  /// The maximum size of a body in bytes.
  private static let bodyLimit = 64 << 20
  /// The version whose API this is, for clients that ask.
  private static let version = "2.35.1"

  let environment: Environment

  var stubs: StubServer { environment.stubs }

  func respond(to request: Request) async throws -> Response {
    // It needs no token, and a stub can forward requests to what only this machine reaches.
    guard environment.host == "127.0.0.1" else {
      throw Problem(
        status: 403, title: "Not for other machines",
        detail: "this API is off in environments that other machines reach; give the stubs when you create one")
    }
    try LocalAccess.check(request.headers, port: environment.mainPort, host: environment.host)
    // Unlike Diorama's own paths it needs no token, and a page of an upstream may come from the same port.
    let site = request.headers["Sec-Fetch-Site"]
    guard request.headers["Origin"] == nil, site == nil || site?.lowercased() == "none" else {
      throw Problem(
        status: 403, title: "Cross-origin request refused",
        detail: "web pages cannot use this API; send requests from a program")
    }
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    do {
      let before = stubs.changeCount
      let response = try await waitingAnswer(request, body) ?? answer(request, body)
      if stubs.changeCount != before {
        // A client that has been answered finds its stubs again after a restart of the daemon.
        environment.changes.note()
        try environment.changes.keep()
      }
      return response
    } catch let error as CodedError {
      return Self.errors(error.kind == .cannotWrite ? 500 : 422, error)
    }
  }

  /// The request for matching, and the decoded segments of its path.
  static func parse(_ request: Request) -> (target: StubRequest, parts: [String]) {
    let target = StubRequest(
      method: request.method, target: request.target, headers: [:], body: [], scheme: "http", host: "", port: 0,
      upstream: nil)
    let parts = target.path.dropFirst(path.utf8.count).split(separator: "/")
      .map { String($0).removingPercentEncoding ?? String($0) }
    return (target, parts)
  }

  static func json(in body: [UInt8]) throws(CodedError) -> JSON {
    try JSON.parse(body, name: "request body", advice: "send one JSON document")
  }

  private func answer(_ request: Request, _ body: [UInt8]) throws -> Response {
    let (target, parts) = Self.parse(request)
    let json = { () throws(CodedError) in try Self.json(in: body) }
    switch (request.method, parts.first ?? "", parts.dropFirst().first) {
    case ("GET", "", nil): return list(stubs.state.withLock { $0.store.mappings }, target)
    case (_, "mappings", _): return try mappings(target, Array(parts.dropFirst()), json)
    case (_, "requests", _): return try requests(target, Array(parts.dropFirst()), json)
    case ("POST", "near-misses", "request"): return try nearMisses(ofRequest: json())
    case ("POST", "near-misses", "request-pattern"): return try nearMisses(ofPattern: json())
    case (_, "scenarios", _): return try scenarios(target, Array(parts.dropFirst()), hasBody: !body.isEmpty, json)
    case ("GET", "settings", nil): return settings()
    case ("POST", "settings", _), ("PUT", "settings", _): return try change(settings: json())
    case ("POST", "reset", nil):
      try stubs.reset()
      stubs.conversations.reset()
      stubs.state.withLock { _ = $0.log.removeAll() }
      return Response(status: 200)
    case (_, "collections", _): return try collections(request.method, Array(parts.dropFirst()), json)
    case (_, "files", _):
      return try files(request.method, parts.dropFirst().joined(separator: "/"), body)
    case ("GET", "health", nil):
      return Self.json([
        "status": .string("healthy"), "message": .string("Wiremock is ok"), "version": .string(Self.version),
        "uptimeInSeconds": .int(Int(Date().timeIntervalSince(environment.createdAt))),
        "timestamp": .string(RFC3339.format(Date())),
      ])
    case ("GET", "version", nil): return Self.json(["version": .string(Self.version)])
    case ("GET", "recordings", "status"): return Self.json(["status": .string("NeverStarted")])
    case (_, "recordings", _):
      throw Problem(
        status: 501, title: "Not supported",
        detail: "stubs are not recorded here; record a cassette: diorama run --mode record")
    case ("POST", "shutdown", nil):
      if let stop = environment.stop {
        stop()
        return Response(status: 200)
      }
      throw Problem(
        status: 403, title: "Shutdown refused",
        detail: "an environment ends with its owner: end the command, or use `diorama env delete`")
    default:
      throw Problem(
        status: 404, title: "Unknown path", detail: "\(request.method) \(target.path) is not part of the admin API")
    }
  }

  // MARK: Mappings

  private func mappings(
    _ request: StubRequest, _ parts: [String], _ json: () throws(CodedError) -> JSON
  ) throws -> Response {
    switch (request.method, parts.first, parts.count) {
    case ("GET", nil, 0): return list(stubs.state.withLock { $0.store.mappings }, request)
    case ("POST", nil, 0):
      let mapping = try read(json())
      try add(mapping)
      return Self.document(mapping.source, status: 201)
    case ("DELETE", nil, 0):
      try remove(stubs.state.withLock { $0.store.mappings.map(\.id) })
      stubs.state.withLock { $0.store.resetScenarios() }
      return Self.json([:])
    // The calls of WireMock 1, which the Java client still makes.
    case ("POST", "new", 1):
      try stubs.add(read(json()))
      return Response(status: 201)
    case ("POST", "edit", 1):
      let mapping = try read(json())
      guard stubs.state.withLock({ $0.store[mapping.id] != nil }) else { return Response(status: 404) }
      try stubs.add(mapping, keepsPlace: true)
      return Response(status: 204)
    case ("POST", "remove", 1):
      try remove([try json()["id"]?.string ?? json()["uuid"]?.string ?? ""])
      return Response(status: 200)
    case ("POST", "reset", 1):
      try stubs.reset()
      return Response(status: 200)
    case ("POST", "save", 1):
      guard let folder = stubs.folder else {
        throw CodedError(.usage, "there is no folder to save to; name one with --stubs DIR or --root-dir DIR")
      }
      for mapping in stubs.state.withLock({ $0.store.mappings }) {
        let saved = mapping.saved
        // Stubs of files that were written by hand stay there.
        if !stubs.isFromFolder(mapping) { try folder.save(saved) }
        try stubs.add(saved, keepsPlace: true)
      }
      return Response(status: 200)
    case ("POST", "import", 1): return try importMappings(json())
    case ("POST", "find-by-metadata", 1):
      return list(try found(byMetadata: json()), request)
    case ("POST", "remove-by-metadata", 1):
      let found = try found(byMetadata: json())
      try remove(found.map(\.id))
      return Self.json([:])
    case ("GET", "unmatched", 1):
      return list(stubs.state.withLock { $0.store.unused }, request)
    case ("GET", let id?, 1):
      guard let mapping = stubs.state.withLock({ $0.store[id] }) else { return Response(status: 404) }
      return Self.document(mapping.source)
    case ("PUT", let id?, 1):
      guard stubs.state.withLock({ $0.store[id] != nil }) else { return Response(status: 404) }
      var members = (try json().object ?? []).filter { !["id", "uuid"].contains($0.key) }
      members.append(.init("id", .string(id)))
      let mapping = try read(.object(members))
      try stubs.add(mapping, keepsPlace: true)
      return Self.document(mapping.source)
    case ("DELETE", let id?, 1):
      guard stubs.state.withLock({ $0.store[id] != nil }) else { return Response(status: 404) }
      try remove([id])
      return Self.json([:])
    default: throw methodRefused(request)
    }
  }

  /// Adds a stub, and saves it if it is persistent.
  private func add(_ mapping: StubMapping) throws(CodedError) {
    if mapping.isPersistent { try stubs.folder?.save(mapping) }
    try stubs.add(mapping)
  }

  /// Removes stubs, and the files of those that were saved.
  private func remove(_ ids: [String]) throws(CodedError) {
    for id in ids {
      let removed = stubs.state.withLock { state in
        defer { state.store.remove(id) }
        return state.store[id]
      }
      if let removed, removed.isPersistent { try stubs.folder?.removeSaved(removed) }
    }
  }

  private func read(_ json: JSON) throws(CodedError) -> StubMapping {
    let mapping = try MappingReader.mapping(json, isTemplate: stubs.areTemplates, makeID: stubs.newID)
    try check([mapping])
    return mapping
  }

  private func check(_ mappings: [StubMapping]) throws(CodedError) {
    if let problem = mappings.lazy.compactMap({ $0.response.templates?.unknownHelper }).first { throw problem }
  }

  private func importMappings(_ json: JSON) throws -> Response {
    guard json["mappings"] != nil else { throw CodedError(.usage, "missing", at: "mappings") }
    let mappings = try MappingReader.mappings(json, isTemplate: stubs.areTemplates, makeID: stubs.newID)
    try check(mappings)
    let options = json["importOptions"]
    let keepsKnown = options?["duplicatePolicy"]?.string == "IGNORE"
    // The first of the list is to be matched first.
    for mapping in mappings.reversed() {
      if keepsKnown, stubs.state.withLock({ $0.store[mapping.id] != nil }) { continue }
      try stubs.add(mapping, keepsPlace: true)
    }
    if options?["deleteAllNotInImport"] == .bool(true) {
      let ids = Set(mappings.map(\.id))
      stubs.state.withLock { $0.store.removeAll { !ids.contains($0.id) } }
    }
    return Response(status: 200)
  }

  private func found(byMetadata json: JSON) throws(CodedError) -> [StubMapping] {
    let matcher = try MappingReader.matcher(Members(json))
    let context = context
    var found: [StubMapping] = []
    for mapping in stubs.state.withLock({ $0.store.mappings }) {
      let value = mapping.metadata.map { MatchedValue($0.encoded()) }
      if try matcher.matches(value, context) { found.append(mapping) }
    }
    return found
  }

  private func list(_ mappings: [StubMapping], _ request: StubRequest) -> Response {
    let page = Self.page(mappings, request)
    return Self.json([
      "mappings": .array(page.map(\.source)), "meta": .object(["total": .int(mappings.count)]),
    ])
  }

  // MARK: Requests

  private func requests(
    _ request: StubRequest, _ parts: [String], _ json: () throws(CodedError) -> JSON
  ) throws -> Response {
    switch (request.method, parts.first, parts.count) {
    case ("GET", nil, 0):
      var entries = Array(log.reversed())
      if let id = request.queryValues("matchingStub").first, UUID(uuidString: id) == nil {
        throw Problem(status: 400, title: "Invalid parameter", detail: "matchingStub: '\(id)' is not a UUID")
      }
      if request.queryValues("unmatched").first == "true" { entries.removeAll { $0.stub != nil } }
      if let id = request.queryValues("matchingStub").first { entries.removeAll { $0.stub != id.lowercased() } }
      if let text = request.queryValues("since").first {
        guard let since = RFC3339.parse(text) else {
          throw CodedError(.usage, "'\(text)' is not an RFC 3339 time", at: "since")
        }
        entries.removeAll { $0.time <= since }
      }
      return Self.json([
        "requests": .array(Self.page(entries, request).map(event)), "meta": .object(["total": .int(entries.count)]),
        "requestJournalDisabled": .bool(isLogDisabled),
      ])
    case ("DELETE", nil, 0), ("POST", "reset", 1):
      stubs.state.withLock { _ = $0.log.removeAll() }
      return request.method == "DELETE" ? Self.json([:]) : Response(status: 200)
    case ("POST", "count", 1) where isLogDisabled:
      return Self.json(["count": .int(-1), "requestJournalDisabled": .bool(true)])
    case ("POST", "count", 1):
      let count = try matching(json()).count
      return Self.json(["count": .int(count), "requestJournalDisabled": .bool(isLogDisabled)])
    case ("POST", "find", 1):
      return Self.json([
        "requests": .array(try matching(json()).map(logged)), "requestJournalDisabled": .bool(isLogDisabled),
      ])
    case ("POST", "remove", 1):
      let numbers = Set(try matching(json()).map(\.number))
      return Self.json(["serveEvents": .array(remove { numbers.contains($0.number) }.map(event))])
    case ("POST", "remove-by-metadata", 1):
      let ids = Set(try found(byMetadata: json()).map(\.id))
      return Self.json(["serveEvents": .array(remove { ids.contains($0.stub ?? "") }.map(event))])
    case ("GET", "unmatched", 1):
      return Self.json([
        "requests": .array(log.reversed().filter { $0.stub == nil }.map(logged)),
        "requestJournalDisabled": .bool(isLogDisabled),
      ])
    case ("GET", "unmatched", 2) where parts[1] == "near-misses":
      let context = context
      let misses = log.reversed().filter { $0.stub == nil }.flatMap { entry in
        stubs.state.withLock { $0.store }.nearest(entry.request.request, context)
          .map { nearMiss(entry, ("stubMapping", $0.mapping.source), $0.distance) }
      }
      return Self.json(["nearMisses": .array(misses)])
    case ("GET", let id?, 1):
      guard let entry = log.first(where: { stubs.id(ofRequest: $0.number) == id.lowercased() }) else {
        return Response(status: 404)
      }
      return Self.document(event(entry))
    case ("DELETE", let id?, 1):
      _ = remove { stubs.id(ofRequest: $0.number) == id.lowercased() }
      return Self.json([:])
    default: throw methodRefused(request)
    }
  }

  private var log: ArraySlice<RequestLog.Entry> { stubs.state.withLock { $0.log.entries } }
  private var isLogDisabled: Bool { !stubs.isActive || stubs.state.withLock { $0.log.capacity == 0 } }

  private func remove(_ isRemoved: (RequestLog.Entry) -> Bool) -> [RequestLog.Entry] {
    stubs.state.withLock { $0.log.removeAll(where: isRemoved) }
  }

  /// The logged requests that a pattern matches.
  private func matching(_ json: JSON) throws(CodedError) -> [RequestLog.Entry] {
    let pattern = try MappingReader.pattern(json)
    var found: [RequestLog.Entry] = []
    for entry in log where try pattern.matches(entry.request.request, context) { found.append(entry) }
    return found
  }

  private func nearMisses(ofRequest json: JSON) throws(CodedError) -> Response {
    let entry = RequestLog.Entry(
      number: 0, time: Date(), request: LoggedRequest(try Self.request(json)), stub: nil, status: 0, response: nil)
    let near = stubs.state.withLock { $0.store }.nearest(entry.request.request, context)
    return Self.json([
      "nearMisses": .array(
        near.map {
          .object([
            .init("request", json), .init("stubMapping", $0.mapping.source),
            .init("matchResult", .object(["distance": .double($0.distance)])),
          ])
        })
    ])
  }

  private func nearMisses(ofPattern json: JSON) throws(CodedError) -> Response {
    let pattern = try MappingReader.pattern(json)
    let members = json.object ?? []
    let shown = JSON.object(
      members.contains { $0.key == "method" } ? members : members + [.init("method", .string("ANY"))])
    let near = log.reversed().map { ($0, pattern.distance($0.request.request, context)) }.sorted { $0.1 < $1.1 }.prefix(
      3)
    return Self.json(["nearMisses": .array(near.map { nearMiss($0.0, ("requestPattern", shown), $0.1) })])
  }

  private func nearMiss(_ entry: RequestLog.Entry, _ stub: (String, JSON), _ distance: Double) -> JSON {
    .object([
      .init("request", logged(entry)), .init(stub.0, stub.1),
      .init("matchResult", .object(["distance": .double(distance)])),
    ])
  }

  /// A request in the form of a logged one.
  private static func request(_ json: JSON) throws(CodedError) -> StubRequest {
    let members = try Members(json)
    guard let target = try members.string("url") else { throw members.error("url", "missing") }
    var headers = Headers()
    for member in try members.object("headers")?.json.object ?? [] {
      for value in member.value.array ?? [member.value] { headers.append(member.key, value.text) }
    }
    return StubRequest(
      method: try members.string("method") ?? "GET", target: target, headers: headers,
      body: Array((try members.string("body") ?? "").utf8), scheme: try members.string("scheme") ?? "http",
      host: try members.string("host") ?? "127.0.0.1", port: try members.int("port", in: 1...65_535) ?? 80,
      upstream: nil)
  }

  /// A logged request as WireMock's clients read it.
  private func logged(_ entry: RequestLog.Entry) -> JSON { logged(entry.request, at: entry.time) }

  func logged(_ logged: LoggedRequest, at time: Date) -> JSON {
    let request = logged.request
    var headers: [JSON.Member] = []
    for field in request.headers.fields where !headers.contains(where: { $0.key == field.name }) {
      let all = request.headers.all(field.name)
      headers.append(.init(field.name, all.count == 1 ? .string(all[0]) : .array(all.map { .string($0) })))
    }
    var query: [JSON.Member] = []
    for item in request.query where !query.contains(where: { $0.key == item.name }) {
      query.append(
        .init(
          item.name,
          .object([
            .init("key", .string(item.name)),
            .init("values", .array(request.queryValues(item.name).map { .string($0) })),
          ])))
    }
    return .object([
      .init("url", .string(request.target)), .init("absoluteUrl", .string(request.url)),
      .init("method", .string(request.method)), .init("clientIp", .string("127.0.0.1")),
      .init("headers", .object(headers)),
      .init("cookies", .object(request.cookies.map { .init($0.name, .string($0.value)) })),
      .init("browserProxyRequest", .bool(false)),
      .init("loggedDate", .int(Int(time.timeIntervalSince1970 * 1000))),
      .init("bodyAsBase64", .string(Data(request.body).base64EncodedString())),
      .init("body", .string(request.bodyValue?.text ?? "")), .init("protocol", .string("HTTP/1.1")),
      .init("scheme", .string(request.scheme)),
      .init("host", .string(request.host)), .init("port", .int(request.port)),
      .init(
        "loggedDateString",
        .string(RFC3339.format(Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down))))),
      .init("queryParams", .object(query)),
    ])
  }

  /// A request with its response.
  private func event(_ entry: RequestLog.Entry) -> JSON {
    let mapping = entry.stub.flatMap { id in stubs.state.withLock { $0.store[id] } }
    let fault = mapping?.response.fault
    var response: [JSON.Member] = [.init("status", .int(fault == nil ? entry.status : 200))]
    let sent = entry.response ?? RequestLog.Response(headers: [:], body: [])
    if !sent.headers.fields.isEmpty {
      response.append(.init("headers", .object(sent.headers.fields.map { .init($0.name, .string($0.value)) })))
    }
    response += [
      .init("bodyAsBase64", .string(Data(sent.body).base64EncodedString())),
      .init("body", .string(String(decoding: sent.body, as: UTF8.self))),
    ]
    if let fault { response.append(.init("fault", .string(fault.rawValue))) }
    var members: [JSON.Member] = [
      .init("id", .string(stubs.id(ofRequest: entry.number))), .init("request", logged(entry)),
      .init(
        "responseDefinition", mapping?.source["response"] ?? Self.unmatched(entry)),
      .init("response", .object(response)), .init("wasMatched", .bool(entry.stub != nil)),
      .init(
        "timing",
        .object(
          ["addedDelay", "processTime", "responseSendTime", "serveTime", "totalTime"].map { .init($0, .int(0)) })),
    ]
    if let mapping {
      members.append(.init("stubMapping", mapping.source))
    } else {
      // Clients expect one.
      let id = JSON.string(stubs.id(ofMiss: entry.number))
      members.append(
        .init(
          "stubMapping",
          .object([
            .init("id", id), .init("request", .object(["method": .string("ANY")])),
            .init("response", Self.unmatched(entry)), .init("uuid", id),
          ])))
    }
    return .object(members)
  }

  /// The response definition of a request that no stub matched.
  private static func unmatched(_ entry: RequestLog.Entry) -> JSON {
    .object([.init("status", .int(entry.status)), .init("fromConfiguredStub", .bool(false))])
  }

  // MARK: Scenarios, settings, files

  private func scenarios(
    _ request: StubRequest, _ parts: [String], hasBody: Bool, _ json: () throws(CodedError) -> JSON
  ) throws -> Response {
    switch (request.method, parts.first, parts.count) {
    case ("GET", nil, 0):
      let all = stubs.state.withLock { $0.store.scenarios }
      return Self.json([
        "scenarios": .array(
          all.map { scenario in
            .object([
              .init("id", .string(scenario.name)), .init("name", .string(scenario.name)),
              .init("state", .string(scenario.state)),
              .init("possibleStates", .array(scenario.possibleStates.map { .string($0) })),
              .init("mappings", .array(scenario.mappings.map(\.source))),
            ])
          })
      ])
    case ("POST", "reset", 1):
      stubs.state.withLock { $0.store.resetScenarios() }
      return Self.json([:])
    case ("PUT", let name?, 2) where parts[1] == "state":
      guard let known = stubs.state.withLock({ $0.store.scenarios.first(where: { $0.name == name }) }) else {
        return Self.json(
          [
            "errors": .array([
              .object([.init("code", .int(404)), .init("title", .string("Scenario \(name) does not exist"))])
            ])
          ], status: 404)
      }
      // Without a body the scenario returns to its first state.
      let state = hasBody ? try Members(json()).string("state") : nil
      if let state, !known.possibleStates.contains(state) {
        let near = alternatives(state, known.possibleStates)
        return Self.json(
          [
            "errors": .array([
              .object([
                .init("code", .int(11)), .init("title", .string("Scenario \(name) does not support state \(state)")),
                .init("detail", .string("the scenario '\(name)' has no state '\(state)'\(near)")),
              ])
            ])
          ], status: 422)
      }
      stubs.state.withLock { $0.store.setState(state, of: name) }
      return Self.json([:])
    default: throw methodRefused(request)
    }
  }

  private func alternatives(_ name: String, _ all: [String]) -> String {
    if let near = EditDistance.likely(name, among: all) { return "; did you mean '\(near)'?" }
    return "; its states are " + all.joined(separator: ", ")
  }

  private func settings() -> Response {
    let settings = stubs.state.withLock { $0.settings }
    var members: [JSON.Member] = []
    if let delay = settings.fixedDelay {
      members.append(.init("fixedDelay", StubResponse.DelayDistribution.number(delay)))
    }
    if let distribution = settings.distribution { members.append(.init("delayDistribution", distribution.json)) }
    return Self.json(["settings": .object(members)])
  }

  private func change(settings json: JSON) throws(CodedError) -> Response {
    let members = try Members(json["settings"] ?? json)
    var settings = StubServer.Settings()
    settings.fixedDelay = try members.milliseconds("fixedDelay")
    if let object = try members.object("delayDistribution") {
      settings.distribution = try MappingReader.distribution(fields: object)
      try object.end()
    }
    _ = members["extended"]
    try members.end()
    stubs.set(settings)
    return Response(status: 200)
  }

  private func files(_ method: String, _ name: String, _ body: [UInt8]) throws -> Response {
    guard let folder = stubs.folder else {
      throw CodedError(.usage, "there is no folder of files; name one with --stubs DIR or --root-dir DIR")
    }
    switch (method, name) {
    case ("GET", ""): return Self.document(.array(folder.fileNames.map { .string($0) }))
    case ("GET", _):
      guard folder.fileNames.contains(name) else { return Response(status: 404) }
      return Response(status: 200, body: .bytes(try folder.file(name)))
    case ("PUT", _) where !name.isEmpty:
      // Clients send the content in Base64, as a JSON text; curl sends it as it is.
      let decoded = (try? JSON.parse(body))?.string.flatMap { Data(base64Encoded: $0) }
      try folder.write(decoded.map(Array.init) ?? body, to: name)
      return Response(status: 200)
    case ("DELETE", _) where !name.isEmpty:
      try folder.removeFile(name)
      return Response(status: 200)
    default:
      throw Problem(status: 405, title: "Method not allowed", detail: "use GET, PUT or DELETE with a file's name")
    }
  }

  // MARK: Collections

  /// The collections and their items. WireMock has none.
  private func collections(
    _ method: String, _ parts: [String], _ json: () throws(CodedError) -> JSON
  ) throws -> Response {
    guard let name = parts.first else {
      guard method == "GET" else { throw Self.collectionRefusal }
      return Self.document(stubs.state.withLock { $0.collections.json })
    }
    if (method, parts.count) != ("PUT", 1), stubs.state.withLock({ $0.collections[name] == nil }) {
      throw Self.unknownCollection(name)
    }
    switch (method, parts.count) {
    case ("PUT", 1):
      let collection = try CollectionSet.collection(name, described: json())
      try stubs.add(collection)
      return Self.document(collection.json)
    case ("DELETE", 1):
      let isRemoved = stubs.state.withLock { $0.collections.remove(name) }
      return Response(status: isRemoved ? 200 : 404)
    case ("POST", 1):
      let item = try json()
      return try stubs.withCollections { (collections, makeID) throws(CodedError) in
        Self.document(try collections.put(item, in: name, makeID: makeID).item)
      }
    case ("GET", 1), ("GET", 2):
      guard let collection = stubs.state.withLock({ $0.collections[name] }) else { return Response(status: 404) }
      guard let id = parts.dropFirst().first else { return Self.document(collection.json) }
      return collection[id].map { Self.document($0) } ?? Response(status: 404)
    case ("DELETE", 2):
      let change = try stubs.withCollections { (collections, _) throws(CodedError) in
        try collections.remove(parts[1], from: name)
      }
      return change.map { Self.document($0.item) } ?? Response(status: 404)
    default: throw Self.collectionRefusal
    }
  }

  private static let collectionRefusal = Problem(
    status: 405, title: "Method not allowed",
    detail: "use GET, PUT, POST or DELETE with a collection's name, or GET or DELETE with an item's id")

  // MARK: Answers

  private var context: MatchContext { environment.matchContext }

  func methodRefused(_ request: StubRequest) -> Problem {
    Problem(
      status: 404, title: "Unknown call", detail: "\(request.method) \(request.path) is not part of the admin API")
  }

  private static func page<Element>(_ all: [Element], _ request: StubRequest) -> ArraySlice<Element> {
    let offset = request.queryValues("offset").first.flatMap { Int($0) } ?? 0
    let limit = request.queryValues("limit").first.flatMap { Int($0) } ?? .max
    return all.dropFirst(max(0, offset)).prefix(max(0, limit))
  }

  static func json(_ members: KeyValuePairs<String, JSON>, status: Int = 200) -> Response {
    document(.object(members.map { .init($0.key, $0.value) }), status: status)
  }

  static func document(_ json: JSON, status: Int = 200) -> Response {
    Response(
      status: status, headers: ["Content-Type": "application/json"], body: .bytes(json.encoded(.pretty)))
  }

  /// An error in the form of WireMock's.
  private static func errors(_ status: Int, _ error: CodedError) -> Response {
    json(
      [
        "errors": .array([
          .object([
            .init("code", .int(10)),
            .init("source", .object(pointer(error.place).map { [.init("pointer", .string($0))] } ?? [])),
            .init("title", .string("Error parsing JSON")), .init("detail", .string(error.message)),
          ])
        ])
      ], status: status)
  }

  /// A path such as `request.bodyPatterns[0]` as a JSON pointer (RFC 6901); nil for a place in a text.
  private static func pointer(_ place: String) -> String? {
    // A template's line and column follow its member.
    let place = place.prefix { $0 != ":" }
    guard !place.contains(" ") else { return nil }
    return "/" + place.replacing("[", with: ".").replacing("]", with: "").replacing(".", with: "/")
  }
}

extension StubResponse.DelayDistribution {
  /// A number without a fraction if it needs none.
  fileprivate static func number(_ value: Double) -> JSON { Int(exactly: value).map { .int($0) } ?? .double(value) }

  fileprivate var json: JSON {
    let members: [(String, JSON)] =
      switch self {
      case .fixed(let delay): [("type", .string("fixed")), ("milliseconds", Self.number(delay))]
      case .uniform(let lower, let upper):
        [("type", .string("uniform")), ("lower", Self.number(lower)), ("upper", Self.number(upper))]
      case .lognormal(let median, let sigma, let most):
        [("type", .string("lognormal")), ("median", Self.number(median)), ("sigma", Self.number(sigma))]
          + (most.map { [("maxValue", Self.number($0))] } ?? [])
      }
    return .object(members.map { JSON.Member($0.0, $0.1) })
  }
}

extension Environment {
  /// Calls WireMock's admin API without a socket.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path below `/__admin`.
  ///   - body: the body.
  /// - Returns: the status and the body of the answer.
  package func admin(_ method: String, _ path: String, _ body: [UInt8]) async -> (status: Int, body: [UInt8]) {
    let request = Request(
      method: method, target: StubAdmin.path + path, headers: ["Host": "127.0.0.1:\(mainPort)"], body: .bytes(body))
    let response: Response
    do { response = try await StubAdmin(environment: self).respond(to: request) } catch {
      response = self.response(to: error)
    }
    let content: [UInt8] = if case .bytes(let bytes) = response.body { bytes } else { [] }
    return (response.status, content)
  }
}

extension StubMapping {
  /// The mapping with the mark of one that is saved as a file.
  fileprivate var saved: StubMapping {
    var mapping = self
    mapping.isPersistent = true
    let members = (source.object ?? []).filter { $0.key != "persistent" }
    mapping.source = .object(members + [.init("persistent", .bool(true))])
    return mapping
  }
}
