import HTTPMessages
import LaunchContract

extension Response {
  /// An answer in JSON.
  static func json(_ value: some Encodable, status: Int = 200, headers: Headers = [:]) throws -> Response {
    var headers = headers
    headers.append("Content-Type", "application/json")
    headers.append("Cache-Control", "no-store")
    return Response(status: status, headers: headers, body: .bytes(Array(try ContractJSON.encode(value))))
  }
}
