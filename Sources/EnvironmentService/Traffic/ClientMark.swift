import Basics
import Cassettes
package import HTTPMessages
import Transforms

/// What a client in the test says about its request. The app's requests have no mark.
///
/// In this process, it is a value. Over a socket, it is the header field `Diorama-Client: TOKEN [origin=ORIGIN]
/// [setup]`, which is removed before the request is matched, recorded or forwarded.
package struct ClientMark: Sendable, Equatable {
  /// The name of the header field.
  package static let field = "Diorama-Client"

  /// The origin of the URL that the client used, if it uses the upstreams' own URLs. The response then has those, too.
  package var origin: String?
  /// Whether the test itself sends the request, to prepare something for the app. The journal and the cassette mark
  /// such requests.
  package var isSetup: Bool

  package init(origin: String? = nil, isSetup: Bool = false) {
    self.origin = origin
    self.isSetup = isSetup
  }

  /// Whether the current task answers a request with ``isSetup``.
  @TaskLocal static var isOfSetup = false

  /// Removes the mark from a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - token: the environment's token.
  /// - Returns: the mark; nil if there is none.
  /// - Throws: a ``Problem`` if the mark is not valid or lacks the token.
  static func take(from request: inout Request, token: String) throws(Problem) -> ClientMark? {
    let values = request.headers.all(field)
    guard let value = values.first else { return nil }
    request.headers.remove(field)
    let words = value.split(separator: " ").map(String.init)
    guard values.count == 1, let given = words.first, ConstantTime.areEqual(Array(given.utf8), Array(token.utf8)) else {
      throw Problem(
        status: 403, title: "\(field) needs the token",
        detail: "start its value with the environment's token, DIORAMA_TOKEN")
    }
    var mark = ClientMark()
    for word in words.dropFirst() {
      if word == "setup" {
        mark.isSetup = true
      } else if word.hasPrefix("origin=") {
        mark.origin = String(word.dropFirst("origin=".count))
      } else {
        throw Problem(
          status: 400, title: "\(field) is not valid", detail: "'\(word)' is not known; use origin=ORIGIN or setup")
      }
    }
    return mark
  }
}

extension Environment {
  /// Answers a request of a client in this process, as a listening port would.
  ///
  /// - Parameters:
  ///   - request: the request, with a path as its target.
  ///   - mark: what the client says about it.
  /// - Returns: the response, with its body decoded. If it is a stream, read it to its end or abandon it.
  /// - Throws: ``BodyError`` if the body cannot be decoded.
  package func respond(to request: Request, as mark: ClientMark) async throws -> Response {
    var response = await EndpointHandler(self, upstream: nil, client: client).respond(to: request, as: mark)
    guard request.method != "HEAD", response.status != 204, response.status != 304 else {
      if case .stream(let pipe, _) = response.body { pipe.abandon() }
      response.body = .empty
      return response
    }
    let values = response.headers.all("Content-Encoding")
    guard !values.isEmpty, response.status != 206,
      let codings = ContentCodings(header: values.joined(separator: ", ")), !codings.isIdentity
    else { return response }
    if case .bytes(let bytes) = response.body {
      response.body = .bytes(try codings.decode(bytes, limit: redactor.decodedLimit))
    } else {
      response.body = .stream(
        try Self.decoded(response.body, by: codings.decoder(limit: redactor.decodedLimit)), length: nil)
    }
    return response
  }

  private static func decoded(_ body: Body, by decoder: ContentDecoder) -> BytePipe {
    let pipe = BytePipe()
    if case .stream(let source, _) = body { pipe.onAbandoned { source.abandon() } }
    nonisolated(unsafe) let decoder = decoder
    Task {
      do {
        try await body.forEachPiece { try await pipe.write(decoder.push($0)) }
        try await pipe.write(decoder.finish())
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    return pipe
  }
}
