import ControlAPI
import Basics
import Cassettes
import EnvironmentConfiguration
import GRPCSchemas
import HTTPMessages
import Transforms

// Looks up the interaction for a request, or the nearest ones if it is not recorded.
extension Replay {
  /// The match keys of a request.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs.
  ///   - upstream: the upstream's index.
  ///   - body: the request's body.
  /// - Returns: the keys.
  /// - Throws: a ``CodedError`` if a rule cannot be applied to the request.
  func keys(of request: Request, upstream: Int, body: [UInt8]) throws(CodedError) -> RequestKeys {
    do {
      var request = request
      var body = body
      if var messages = requests.comparison.messages(request.headers, target: request.target, upstream: upstream) {
        body = messages.push(body, isLast: true)
        request = request.asJSON(body)
      }
      let keys = try maker.keys(
        method: request.method, upstream: upstream, target: request.target, headers: request.headers, body: body)
      return variant(keys, of: request, upstream: upstream)
    } catch {
      throw .unanswerable(request, error)
    }
  }

  /// Extends keys by what distinguishes several recordings of the same request.
  func variant(_ keys: RequestKeys, of request: Request, upstream: Int) -> RequestKeys {
    index.keys(keys, of: request, upstream: upstream, maker: maker)
  }

  /// Describes a request body that is too large to be held.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs.
  ///   - upstream: the upstream's index.
  ///   - length: the body's length.
  ///   - keys: the request's keys.
  /// - Returns: the description, to be compared with the nearest recorded requests.
  func largeBody(of request: Request, upstream: Int, length: Int, keys: RequestKeys?) -> LargeBody {
    LargeBody(length: length) { [self] index in
      // Make keys of this request with the recorded body: they are equal only if the bodies are.
      var key = try maker.stream(for: request, upstream: upstream)
      if case .bytes(let bytes) = interactions[index].request.body {
        bytes.withUnsafeBytes { key.push($0) }
      } else {
        try requests.readBody(index, into: &key)
      }
      return variant(try key.finish(), of: request, upstream: upstream) == keys
    }
  }

  /// The recorded interactions nearest to a request that is not recorded.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs.
  ///   - upstream: the upstream's name.
  ///   - body: the request's body, or the beginning of a large one.
  ///   - large: describes a body that was too large to be held.
  ///   - playback: the position in the cassette.
  ///   - times: when the request was sent.
  ///   - schemas: the schemas of gRPC messages that the request has as JSON; nil for none.
  /// - Returns: the nearest interactions, best first.
  func nearest(
    to request: Request, upstream: String, body: [UInt8], large: LargeBody? = nil,
    playback: Playback?, at times: MissTimes, schemas: GRPCSchemaSet? = nil
  ) -> [NearMiss] {
    let isGRPC = GRPCFraming(contentType: request.headers["Content-Type"] ?? "") == .grpc
    let interactions =
      isGRPC
      ? requests.described(asCallsTo: request.target, schemas: schemas, in: location) : interactions
    return nearMisses(
      method: request.method, target: request.target, upstreamName: upstream, headers: request.headers, body: body,
      in: interactions,
      names: { [requests] in requests.assignment.upstream(of: $0).map { requests.upstreams[$0].name } },
      book: maker.book ?? (try? RuleBook(MatchingRules(), upstreams: requests.upstreams)), expected: playback?.expected,
      awaited: { playback?.awaited(by: $0) },
      large: large, at: times,
      body: { [location] in try CassetteReader.bytes(of: $0, in: location) })
  }

  /// A near miss for the report.
  func described(_ miss: NearMiss) -> Report.Nearest {
    let recorded = interactions[miss.index].request
    return Report.Nearest(
      index: miss.index, method: recorded.method, url: recorded.url,
      differences: miss.differences.map(\.description), rules: miss.rules.isEmpty ? nil : miss.rules)
  }
}
