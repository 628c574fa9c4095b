package import Basics
import Transforms
import Cassettes
package import EnvironmentConfiguration
import Foundation
import HTTPClient
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// The access settings of an upstream, ready for use.
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
  /// - Throws: a ``CodedError``: of kind `usage` for an upstream that is not declared, a header that cannot be
  ///   sent, a header or client certificate for a URL that only the cassette names, or a file with the wrong content;
  ///   of kind `inputOutput` for a file that cannot be read.
  func checkAccess(to upstreams: [CassetteHeader.Upstream], reads: Bool) throws(CodedError) {
    func upstream(_ name: String) throws(CodedError) -> CassetteHeader.Upstream {
      if let upstream = upstreams.first(where: { $0.name == name }) { return upstream }
      let names = upstreams.map(\.name).joined(separator: ", ")
      throw CodedError(
        .usage,
        "there is no upstream '\(name)'; "
          + (names.isEmpty ? "declare it with \(upstreamAdvice(name))" : "the declared upstreams are: \(names)"))
    }
    for name in (endpointVariables ?? [:]).values.sorted() { _ = try upstream(name) }
    for name in (endpointPorts ?? [:]).keys.sorted() { _ = try upstream(name) }
    for (name, access) in (access ?? [:]).sorted(by: { $0.key < $1.key }) {
      let upstream = try upstream(name)
      try CodedError.translating(to: .usage, try access.check("upstreams.\(name)"))
      for (member, path) in [
        ("ca", access.ca), ("clientCertificate", access.clientCertificate), ("clientKey", access.clientKey),
      ] {
        guard let path, !path.hasPrefix("/") else { continue }
        throw CodedError(.usage, "upstreams.\(name).\(member): '\(path)' is not absolute; give an absolute path")
      }
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
  /// - Throws: a ``CodedError`` of kind `usage` if ``access`` has a header or a client certificate for the
  ///   upstream, but ``upstreams`` does not name it with the same URL.
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
  /// Checks the files up front, since a failed first request would not explain the cause.
  ///
  /// - Parameter upstream: the upstream's name, for errors.
  /// - Throws: a ``CodedError``: of kind `inputOutput` for a file that cannot be read, `usage` for one with the
  ///   wrong content.
  package func checkFiles(of upstream: String) throws(CodedError) {
    if let ca {
      guard try Self.read(ca, "CA", of: upstream).contains(Self.certificate) else {
        throw Self.wrong(ca, "CA", of: upstream, "contains no PEM certificate (-----BEGIN CERTIFICATE-----)")
      }
    }
    guard let clientCertificate else { return }
    let words = try Self.read(clientCertificate, "client certificate", of: upstream)
    guard words.contains(Self.certificate) else {
      throw Self.wrong(
        clientCertificate, "client certificate", of: upstream,
        "contains no PEM certificate (-----BEGIN CERTIFICATE-----)")
    }
    let path = clientKey ?? clientCertificate
    let key = clientKey == nil ? words : try Self.read(path, "client key", of: upstream)
    guard key.contains("PRIVATE KEY-----") else {
      throw Self.wrong(
        path, "client key", of: upstream,
        "contains no PEM key (-----BEGIN PRIVATE KEY-----)" + (clientKey == nil ? "; name the key's file" : ""))
    }
    guard !key.contains("BEGIN ENCRYPTED PRIVATE KEY"), !key.contains("Proc-Type: 4,ENCRYPTED") else {
      throw Self.wrong(
        path, "client key", of: upstream,
        "is encrypted, which is not supported; decrypt it with: openssl pkey -in \(path) -out FILE")
    }
  }

  private static let certificate = "-----BEGIN CERTIFICATE-----"

  private static func read(_ path: String, _ what: String, of upstream: String) throws(CodedError) -> String {
    do {
      return String(decoding: try InputFile(path).read(atMost: InputFile.smallLimit), as: UTF8.self)
    } catch {
      throw CodedError(
        .inputOutput,
        "the \(what) of upstream '\(upstream)', \(path), "
          + (error.isMissing ? "does not exist; correct the path" : "cannot be read: \(error); name another file"))
    }
  }

  private static func wrong(_ path: String, _ what: String, of upstream: String, _ problem: String) -> CodedError {
    CodedError(.usage, "the \(what) of upstream '\(upstream)', \(path), \(problem)")
  }
}

/// The access settings of an upstream, prepared once and used for each request.
struct ReadyAccess: Sendable {
  /// The origin to which requests are sent instead; nil for the upstream's own.
  var destination: Origin?
  /// The header fields to set, sorted by name.
  var headers: [Headers.Field] = []
  var trust = Trust.usual

  init() {}

  init(_ access: UpstreamAccess) {
    headers = (access.headers ?? [:]).sorted { $0.key < $1.key }.map { Headers.Field($0.key, $0.value.revealed) }
    trust = Trust(
      authorities: access.ca, clientCertificate: access.clientCertificate, clientKey: access.clientKey,
      isInsecure: access.insecure ?? false)
  }

  /// The request with the added header fields, as sent to the upstream. Recording and matching use the app's own
  /// request.
  func sent(_ request: Request) -> Request {
    guard !headers.isEmpty || destination != nil else { return request }
    var request = request
    if let destination { request.headers.set("Host", destination.authority) }
    for field in headers { request.headers.set(field.name, field.value) }
    return request
  }
}
