package import Basics
import Transforms
import Cassettes
package import ControlAPI
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// How an upstream is reached.
  func readyAccess(to upstream: String) -> ReadyAccess {
    access?[upstream].map { ReadyAccess($0) } ?? ReadyAccess()
  }

  /// Whether a header field of that name carries a secret by its purpose.
  package static func isSecretHeader(_ name: String) -> Bool {
    HeaderRedaction.defaultNames.contains(name.lowercased())
  }

  /// - Parameters:
  ///   - upstreams: the environment's.
  ///   - reads: whether upstreams are contacted, so that the files are needed.
  /// - Throws: a ``CodedError``: of kind `usage` for an upstream that is not declared, a header that cannot be
  ///   sent, a header or a client certificate for a URL that only the cassette names, or a file without what it is to
  ///   have; `inputOutput` for one that cannot be read.
  func checkAccess(to upstreams: [CassetteHeader.Upstream], reads: Bool) throws(CodedError) {
    for (name, access) in (access ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard let upstream = upstreams.first(where: { $0.name == name }) else {
        let names = upstreams.map(\.name).joined(separator: ", ")
        throw CodedError(
          .usage,
          "there is no upstream '\(name)' to reach in a way of its own; "
            + (names.isEmpty ? "declare it with \(upstreamAdvice(name))" : "declared are: \(names)"))
      }
      try access.check("access.\(name)")
      guard reads else { continue }
      try checkIsNamed(upstream)
      try access.checkFiles(of: name)
    }
  }

  /// Whether requests to some upstream get a header or a client certificate of the caller's.
  var addsSecrets: Bool {
    access?.values.contains { !($0.headers ?? [:]).isEmpty || $0.clientCertificate != nil } ?? false
  }

  /// Secrets go to a URL only if the caller named it: whoever wrote the cassette could otherwise collect them.
  ///
  /// - Parameter upstream: an upstream that is about to be contacted.
  /// - Throws: a ``CodedError`` of kind `usage` where ``access`` has a header or a client certificate for it, and
  ///   ``upstreams`` does not have it with the same URL.
  func checkIsNamed(_ upstream: CassetteHeader.Upstream) throws(CodedError) {
    guard let access = access?[upstream.name] else { return }
    var secrets = (access.headers ?? [:]).keys.sorted().map { "the header \($0)" }
    if access.clientCertificate != nil { secrets.append("the client certificate") }
    guard !secrets.isEmpty, !upstreams.contains(upstream) else { return }
    throw CodedError(
      .usage,
      "\(secrets.joined(separator: " and ")) would go to \(upstream.origin), which only the cassette names; "
        + "name the upstream yourself: \(upstreamAdvice(upstream.name, upstream.origin.description))")
  }

  /// The values of added header fields that are secrets: those of fields that are redacted, wherever they occur.
  ///
  /// - Parameter rules: by which recordings are redacted.
  /// - Returns: each under its upstream's and its field's name.
  func accessSecrets(_ rules: CompiledRules) -> [Credential] {
    (access ?? [:]).sorted { $0.key < $1.key }.flatMap { upstream, access in
      (access.headers ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value -> Credential? in
        let lowered = name.lowercased()
        let isSecret =
          rules.headers.contains(lowered)
          || (HeaderRedaction.defaultNames.contains(lowered) && !rules.keptHeaders.contains(lowered))
        guard isSecret else { return nil }
        return Credential(
          service: upstream, account: name, secret: Array(HeaderRedaction.secret(in: value.revealed, of: lowered).utf8))
      }
    }
  }
}

extension UpstreamAccess {
  /// - Parameter member: what an error calls it.
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault, and never a header's value.
  package func check(_ member: String) throws(CodedError) {
    let headers = headers ?? [:]
    try RequestLimits.check(count: headers.count, "\(member).headers", limit: 64)
    var names = Set<String>()
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      let place = "\(member).headers.\(name.prefix(60))"
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isInFieldName) else {
        throw RequestLimits.usage(place, "it is no header's name; write it as in X-Api-Key")
      }
      guard names.insert(name.lowercased()).inserted else {
        throw RequestLimits.usage(place, "it is given twice, in two spellings")
      }
      guard !Self.framing.contains(name.lowercased()) else {
        throw RequestLimits.usage(place, "it belongs to the connection, and is written by Diorama")
      }
      guard value.revealed.utf8.count <= RequestLimits.secret,
        value.revealed.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) })
      else {
        throw RequestLimits.usage(place, "its value has line ends or control characters, or more than 65536 bytes")
      }
    }
    for (name, path) in [("ca", ca), ("clientCertificate", clientCertificate), ("clientKey", clientKey)] {
      guard let path else { continue }
      try RequestLimits.check(path, "\(member).\(name)", limit: RequestLimits.text)
      guard path.hasPrefix("/") else {
        throw RequestLimits.usage("\(member).\(name)", "'\(path)' is not absolute; give the whole path")
      }
    }
    if clientKey != nil, clientCertificate == nil {
      throw RequestLimits.usage("\(member).clientKey", "a key needs its certificate; give clientCertificate, too")
    }
  }

  private static func isInFieldName(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
  }

  private static let framing: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions",
  ]
}
