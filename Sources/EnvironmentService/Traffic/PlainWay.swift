import Basics
import Cassettes
import Transforms
import HTTPMessages

/// What all plain passages to one upstream have in common, found out once.
final class PlainWay: Sendable {
  /// Takes what turns out not to be plain.
  let pipeline: Pipeline
  let environment: Environment
  let client: UpstreamClient
  let upstream: Int
  let addresses: AddressMap
  /// Finds upstreams' addresses in answers.
  let matcher: UpstreamURLMatcher
  let origin: Origin
  let authority: String
  /// The endpoint's own.
  let port: UInt16
  let url: String
  let access: ReadyAccess
  /// The last answer's type: most have the same.
  private let lastType = Guarded(MediaType("application/json"))

  /// The parts of a `Content-Type` that matter here.
  struct MediaType {
    let isText: Bool
    let isStream: Bool
    fileprivate let field: [UInt8]

    fileprivate init(_ field: String) {
      self.field = Array(field.utf8)
      isText = TextualType.contains(field)
      isStream = StreamKind(contentType: field) != nil
    }
  }

  func mediaType(_ field: UnsafeRawBufferPointer) -> MediaType {
    lastType.withLock { last in
      if !field.elementsEqual(last.field) { last = MediaType(String(decoding: field, as: UTF8.self)) }
      return last
    }
  }

  /// Nil where requests are not passed on and nothing else: looked up, recorded, or added to.
  ///
  /// Patterns that redact the journal may take their time, while others' requests wait for the same thread.
  init?(_ pipeline: Pipeline, _ client: UpstreamClient, upstream: Int) {
    let environment = pipeline.environment
    guard environment.replay == nil, environment.recorder == nil, environment.mode.mayReachNetwork,
      environment.access[upstream].headers.isEmpty, environment.redactor.rules.patterns.isEmpty
    else { return nil }
    self.pipeline = pipeline
    self.environment = environment
    self.client = client
    self.upstream = upstream
    addresses = environment.addresses
    matcher = addresses.matcher(upstream: upstream, form: .ownPort)
    origin = addresses.upstreams[upstream].origin
    port = addresses.upstreams[upstream].port
    authority = addresses.upstreams[upstream].authority
    url = addresses.upstreams[upstream].url
    access = environment.access[upstream]
  }

  /// Counts a request; false once the environment has ended.
  func enter() -> Bool {
    environment.state.withLock { state in
      if !state.isOver { state.requests += 1 }
      return !state.isOver
    }
  }

  /// It goes another way, where it is counted.
  func leave() { environment.state.withLock { $0.requests -= 1 } }
}
