import ControlAPI
import HTTPClient
import HTTPMessages
import LaunchContract

/// How an upstream is reached, ready to be used for each request.
struct ReadyAccess: Sendable {
  /// In alphabetical order of their names.
  var headers: [Headers.Field] = []
  var trust = Trust.usual

  init() {}

  init(_ access: UpstreamAccess) {
    headers = (access.headers ?? [:]).sorted { $0.key < $1.key }.map { Headers.Field($0.key, $0.value.revealed) }
    trust = Trust(
      authorities: access.ca, clientCertificate: access.clientCertificate, clientKey: access.clientKey,
      isInsecure: access.insecure ?? false)
  }

  /// The request as it goes to the upstream. What is recorded and matched is the app's own.
  func sent(_ request: Request) -> Request {
    guard !headers.isEmpty else { return request }
    var request = request
    for field in headers { request.headers.set(field.name, field.value) }
    return request
  }
}
