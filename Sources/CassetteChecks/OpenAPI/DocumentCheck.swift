import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Checks recorded traffic against an OpenAPI document, without network access.
package struct DocumentCheck {
  /// A difference between an interaction and the document.
  @dynamicMemberLookup
  package struct Finding: Sendable, Equatable {
    package var interaction: Int
    package var finding: MessageFinding

    package subscript<Value>(dynamicMember member: KeyPath<MessageFinding, Value>) -> Value {
      finding[keyPath: member]
    }
  }

  package private(set) var findings: [Finding] = []
  /// The number of interactions that were checked.
  package private(set) var checked = 0
  /// Parts of the document that apply but are not checked, in order and without duplicates.
  package private(set) var unsupported: [OpenAPIDocument.Unsupported]
  /// The recording that was checked.
  package let recording: Recording

  /// - Parameters:
  ///   - recording: the recording to check.
  ///   - document: the document to check against.
  ///   - backends: the backends that the document describes; nil for all.
  /// - Throws: errors from reading a body.
  package init(_ recording: Recording, against document: OpenAPIDocument, backends: Set<String>? = nil) throws {
    self.recording = recording
    let finder = OperationFinder(document)
    unsupported = document.doubts + finder.unsupported
    var webSockets = 0
    for index in recording.interactions.indices {
      guard backends?.contains(recording.backends[index]) ?? true else { continue }
      let interaction = recording.interactions[index]
      guard !interaction.asksForWebSocket else {
        webSockets += 1
        continue
      }
      let request = interaction.request
      // A CORS preflight request is not part of the API.
      let isPreflight = request.method == "OPTIONS" && request.headers["Access-Control-Request-Method"] != nil
      guard !isPreflight else { continue }
      checked += 1
      switch finder.match(request.method, path: recording.url(index).path) {
      case .noPath:
        add(index, "path", "#/paths", "\(recording.url(index).path) is not in the document")
      case .noMethod(let path, let template, let methods):
        let has = methods.isEmpty ? "nothing" : methods.joined(separator: ", ")
        add(index, "method", path.pointer, "\(request.method) \(template) is not in the document, which has \(has)")
      case .operation(let operation):
        var check = MessageCheck(document)
        // A request that the server rejected may be invalid on purpose.
        if !(400..<500 ~= interaction.response.status) {
          check.checkRequest(
            operation, query: recording.url(index).query, headers: request.headers,
            body: try recording.requestBody(index))
        }
        check.checkResponse(operation, try recording.answer(index), isForHead: request.method == "HEAD")
        findings += check.findings.map { Finding(interaction: index, finding: $0) }
        unsupported += check.unsupported
      }
    }
    if webSockets > 0 {
      let them =
        webSockets == 1
        ? "1 WebSocket: OpenAPI has no words for it" : "\(webSockets) WebSockets: OpenAPI has no words for them"
      unsupported.append(.init(pointer: "#/paths", text: them))
    }
    var seen: Set<OpenAPIDocument.Unsupported> = []
    unsupported = unsupported.filter { seen.insert($0).inserted }
  }

  private mutating func add(_ index: Int, _ part: String, _ rule: String, _ text: String) {
    let finding = MessageFinding(
      part: part, place: nil, rule: rule, text: text.escapedForTerminal, kind: .unknown)
    findings.append(Finding(interaction: index, finding: finding))
  }
}
