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

  /// Whether a header field with this name usually carries a secret, such as `Authorization`.
  package static func isSecretHeader(_ name: String) -> Bool {
    HeaderRedaction.defaultNames.contains(name.lowercased())
  }

  /// Checks that ``access`` names declared upstreams and that everything in it is usable.
  ///
  /// - Parameters:
  ///   - upstreams: the environment's upstreams.
  ///   - reads: whether upstreams will be contacted, so that the named files must be readable.
  /// - Throws: an ``EnvironmentError``: of kind `usage` for an upstream that is not declared, a header that cannot be
  ///   sent, a header or client certificate for a URL that only the cassette names, or a file with the wrong content;
  ///   of kind `inputOutput` for a file that cannot be read.
  func checkAccess(to upstreams: [CassetteHeader.Upstream], reads: Bool) throws(EnvironmentError) {
    for (name, access) in (access ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard let upstream = upstreams.first(where: { $0.name == name }) else {
        let names = upstreams.map(\.name).joined(separator: ", ")
        throw EnvironmentError(
          .usage,
          "there is no upstream '\(name)'; "
            + (names.isEmpty ? "declare it with \(upstreamAdvice(name))" : "the declared upstreams are: \(names)"))
      }
      try access.check("access.\(name)")
      guard reads else { continue }
      try checkIsNamed(upstream)
      try access.checkFiles(of: name)
    }
  }

  /// Whether requests to any upstream get a header or a client certificate from the caller.
  var addsSecrets: Bool {
    access?.values.contains { !($0.headers ?? [:]).isEmpty || $0.clientCertificate != nil } ?? false
  }

  /// Checks that the caller, not only the cassette, named the URL that is about to receive secrets. Otherwise the
  /// author of a cassette could collect them.
  ///
  /// - Parameter upstream: an upstream that is about to be contacted.
  /// - Throws: an ``EnvironmentError`` of kind `usage` if ``access`` has a header or a client certificate for the
  ///   upstream, but ``upstreams`` does not name it with the same URL.
  func checkIsNamed(_ upstream: CassetteHeader.Upstream) throws(EnvironmentError) {
    guard let access = access?[upstream.name] else { return }
    var secrets = (access.headers ?? [:]).keys.sorted().map { "the header \($0)" }
    if access.clientCertificate != nil { secrets.append("the client certificate") }
    guard !secrets.isEmpty, !upstreams.contains(upstream) else { return }
    throw EnvironmentError(
      .usage,
      "\(secrets.joined(separator: " and ")) would go to \(upstream.origin), which only the cassette names; "
        + "name the upstream yourself: \(upstreamAdvice(upstream.name, upstream.origin.description))")
  }

  /// The secret values of added header fields. Their fields are redacted, and so are the values wherever they occur.
  ///
  /// - Parameter rules: the rules that redact recordings.
  /// - Returns: one credential for each secret field, named after the upstream and the field.
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
  /// Checks headers and file paths, without reading files.
  ///
  /// - Parameter member: the name of this value in error messages.
  /// - Throws: an ``EnvironmentError`` of kind `usage` that names the invalid member, but never a header's value.
  package func check(_ member: String) throws(EnvironmentError) {
    let headers = headers ?? [:]
    try RequestLimits.check(count: headers.count, "\(member).headers", limit: 64)
    var names = Set<String>()
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      let place = "\(member).headers.\(name.prefix(60))"
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isInFieldName) else {
        throw RequestLimits.usage(place, "not a valid header name; use a name such as X-Api-Key")
      }
      guard names.insert(name.lowercased()).inserted else {
        throw RequestLimits.usage(place, "given twice; header names are case-insensitive")
      }
      guard !Self.framing.contains(name.lowercased()) else {
        throw RequestLimits.usage(place, "Diorama sets this header itself; remove it")
      }
      guard value.revealed.utf8.count <= RequestLimits.secret,
        value.revealed.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) })
      else {
        throw RequestLimits.usage(place, "the value has control characters or is longer than 65536 bytes")
      }
    }
    for (name, path) in [("ca", ca), ("clientCertificate", clientCertificate), ("clientKey", clientKey)] {
      guard let path else { continue }
      try RequestLimits.check(path, "\(member).\(name)", limit: RequestLimits.text)
      guard path.hasPrefix("/") else {
        throw RequestLimits.usage("\(member).\(name)", "'\(path)' is not absolute; give an absolute path")
      }
    }
    if clientKey != nil, clientCertificate == nil {
      throw RequestLimits.usage("\(member).clientKey", "a key needs its certificate; set clientCertificate too")
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
