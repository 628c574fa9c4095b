package import Basics
import Cassettes
package import HTTPMessages

/// Answers requests from an OpenAPI document, and checks other requests and responses against it.
///
/// A body is an example from the document, or generated from the schema. It depends only on the document, the request
/// and the random numbers, so the same request always gets the same response.
///
/// ```swift
/// let mock = try OpenAPIMock(bytes, name: "petstore.yaml")
/// let answer = mock.answer(to: Request(method: "GET", target: "/pets/7")) { range in range.lowerBound }
/// ```
package struct OpenAPIMock: Sendable {
  typealias Node = OpenAPIDocument.Node

  /// An answer, and what to report about it.
  package struct Answer: Sendable {
    package var status: Int
    package var headers: Headers
    package var body: [UInt8]
    /// The operation, and the example if there is one: `GET /pets/{id}, example cat`.
    package var label: String
    /// How the request violates the document, one line each. If there are any, the answer rejects the request.
    package var violations: [String] = []
    /// Why there is no answer: the request asks for something that the document does not have. Nil if there is one.
    package var refusal: String?
    /// Contradictions within the document, one line each, such as an example that does not match its schema.
    package var doubts: [String] = []
  }

  private let name: String
  private let document: OpenAPIDocument
  private let finder: OperationFinder

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - bytes: the document in YAML or JSON.
  ///   - name: the file name, for messages.
  /// - Throws: ``CodedError`` if it is not an OpenAPI document of version 3.0 or 3.1, or has no paths.
  package init(_ bytes: [UInt8], name: String) throws(CodedError) {
    self.name = name
    document = try OpenAPIDocument(bytes, name: name)
    finder = OperationFinder(document, acceptsBarePaths: true)
    guard finder.nearest(to: "/") != nil else {
      throw CodedError(name: name, problem: "it has no paths", advice: "name another document with --openapi")
    }
  }

  /// The document's path that is nearest to a path, with its methods: `GET, POST /pets/{id}`.
  package func nearest(to target: String) -> String {
    guard let path = finder.nearest(to: Self.path(target)) else { return "" }
    let node = document.root["paths"]?[path]
    var ignored: [OpenAPIDocument.Unsupported] = []
    let methods = OperationFinder.methods(of: node.flatMap { document.resolved($0, &ignored) })
    return "\(methods.joined(separator: ", ")) \(path)"
  }

  private static func path(_ target: String) -> Substring { target.prefix { $0 != "?" } }

  // MARK: Checks

  /// How a request violates the document, one line each. Empty if the document does not have its path or method.
  ///
  /// - Parameter request: the request; only a body in memory is checked, after decoding its content coding.
  /// - Returns: the lines.
  package func violations(of request: Request) -> [String] {
    guard case .operation(let operation) = finder.match(request.method, path: Self.path(request.target)) else {
      return []
    }
    return findings(of: request, operation).map(\.line)
  }

  private func findings(of request: Request, _ operation: OperationFinder.Operation) -> [MessageFinding] {
    var check = MessageCheck(document)
    let query = request.target.firstIndex(of: "?").map { request.target[request.target.index(after: $0)...] }
    let body: [UInt8]? = if case .bytes(let bytes) = request.body { bytes } else { nil }
    check.checkRequest(operation, query: query, headers: request.headers, body: body)
    return check.findings.filter { $0.kind == .contradiction || $0.kind == .contentType }
  }

  /// How a stub's response violates the document, one line each. Empty if the document does not have the path or
  /// method.
  ///
  /// A 4xx or 5xx status that the document does not have is not a violation: proxies send them, too.
  ///
  /// - Parameters:
  ///   - response: the response; only a body in memory is checked.
  ///   - request: the request.
  /// - Returns: the lines.
  package func violations(of response: Response, to request: Request) -> [String] {
    guard response.fault == nil,
      case .operation(let operation) = finder.match(request.method, path: Self.path(request.target))
    else { return [] }
    var check = MessageCheck(document)
    let coding = response.headers["Content-Encoding"] ?? "identity"
    var answer = CassetteChecks.Answer(status: response.status, headers: response.headers, body: [], isWhole: false)
    if case .bytes(let bytes) = response.body, coding == "identity" { (answer.body, answer.isWhole) = (bytes, true) }
    check.checkResponse(operation, answer, isForHead: request.method == "HEAD", needsBody: true)
    return check.findings.filter { finding in
      switch finding.kind {
      case .contradiction, .contentType: true
      case .status: response.status < 400
      case .unknown: false
      }
    }.map(\.line)
  }

  // MARK: Answers

  /// The answer to a request.
  ///
  /// - Parameters:
  ///   - request: the request, with its decoded body in memory.
  ///   - random: draws an integer.
  /// - Returns: the answer; nil if the document does not have the path.
  package func answer(to request: Request, random: @escaping (ClosedRange<Int>) -> Int) -> Answer? {
    let operation: OperationFinder.Operation
    switch finder.match(request.method, path: Self.path(request.target)) {
    case .noPath: return nil
    case .noMethod(_, let template, let methods):
      let has = methods.joined(separator: ", ")
      return refusal(
        405, "\(request.method) \(template)", "\(name) has no \(request.method) \(template); it has \(has)",
        headers: ["Allow": has])
    case .operation(let found): operation = found
    }
    let maker = AnswerMaker(
      document: document, operation: operation, request: request, random: random,
      label: "\(operation.isForHead ? "GET" : request.method) \(operation.template)")
    do {
      if let challenge = SecurityCheck(document).challenge(to: request, operation.node) {
        return try rejection(
          maker, [401],
          [
            MessageFinding(
              part: "security", place: nil, rule: operation.node.pointer,
              text: "has no credentials for any of the operation's schemes",
              kind: .contradiction)
          ], headers: challenge)
      }
      let findings = findings(of: request, operation)
      guard findings.isEmpty else {
        let isContentType = findings.contains { $0.kind == .contentType }
        return try rejection(maker, isContentType ? [415, 422, 400] : [422, 400], findings)
      }
      return try maker.answer()
    } catch {
      return refusal(error.status, maker.label, "\(maker.label): \(error.detail)")
    }
  }

  /// The response to a request that violates the document: the document's own, or a problem document that lists the
  /// violations.
  private func rejection(
    _ maker: AnswerMaker, _ statuses: [Int], _ findings: [MessageFinding], headers: Headers = [:]
  ) throws(AnswerMaker.Refusal) -> Answer {
    let responses = maker.operation.node["responses"]
    let declared = statuses.first { responses?["\($0)"] != nil }
    let status = declared ?? statuses[0]
    let lines = findings.map(\.line)
    var answer: Answer
    if let response = responses?.response(for: status), let own = try maker.errorAnswer(status, response) {
      answer = own
    } else {
      let errors = findings.map { finding -> JSON in
        var members = [JSON.Member("in", .string(finding.part))]
        if let place = finding.place { members.append(.init("pointer", .string(place))) }
        return .object(members + [.init("detail", .string(finding.text)), .init("rule", .string(finding.rule))])
      }
      answer = Self.problem(
        status, "Request violates the OpenAPI document", label: maker.label,
        "\(maker.label) of \(name): \(lines.prefix(3).joined(separator: "; "))", errors: errors)
    }
    answer.headers.fields += headers.fields
    // The document's own response does not say what is wrong.
    for line in lines.prefix(10) { answer.headers.append("Diorama-Violation", AnswerMaker.fieldText(line)) }
    answer.violations = lines
    return answer
  }

  private func refusal(_ status: Int, _ label: String, _ detail: String, headers: Headers = [:]) -> Answer {
    var answer = Self.problem(status, "Not in the OpenAPI document", label: label, detail)
    answer.headers.append("Diorama-Miss", "1")
    answer.headers.fields += headers.fields
    answer.refusal = detail
    return answer
  }

  private static func problem(
    _ status: Int, _ title: String, label: String, _ detail: String, errors: [JSON] = []
  ) -> Answer {
    var members: [JSON.Member] = [
      .init("type", .string("about:blank")), .init("title", .string(title)), .init("status", .int(status)),
      .init("detail", .string(detail)),
    ]
    if !errors.isEmpty { members.append(.init("errors", .array(errors))) }
    return Answer(
      status: status, headers: ["Content-Type": "application/problem+json"],
      body: JSON.object(members).encoded(.pretty) + [0x0A], label: label)
  }
}
