import Basics
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import Transforms

/// The request that the current task answers, for a journal file with requests.
enum JournaledRequest {
  /// Nil unless the journal file has requests.
  @TaskLocal static var current: JournalPage.Entry.Request?

  /// The largest body in bytes that the file gets.
  private static let bodyLimit = 256 << 10

  /// Describes a request.
  ///
  /// - Parameters:
  ///   - request: the request, described for matching.
  ///   - environment: its environment.
  ///   - last: the number of the last entry when it arrived.
  /// - Returns: the description.
  static func describing(
    _ request: DescribedRequest, in environment: Environment, after last: Int
  ) -> JournalPage.Entry.Request {
    let clean = environment.redactor.redact(request.outgoing)
    var body: Data?
    var size = request.length
    if case .bytes(let bytes) = clean.body {
      size = size ?? bytes.count
      if request.length == nil, bytes.count <= bodyLimit { body = Data(bytes) }
    }
    return JournalPage.Entry.Request(
      url: environment.upstreams[request.upstream].origin.description + clean.target,
      headers: clean.headers.fields.map { "\($0.name): \($0.value)" }, body: body, size: size,
      key: request.keys?.key.hexadecimal, after: last)
  }
}
