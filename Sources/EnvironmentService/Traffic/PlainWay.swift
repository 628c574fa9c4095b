import Basics
import Cassettes
import Transforms
import HTTPMessages

/// The state that all plain passages to one upstream share, computed once.
final class PlainWay: Sendable {
  /// Handles responses that turn out to need rewriting.
  let pipeline: Pipeline
  let environment: Environment
  let client: UpstreamClient
  let upstream: Int
  let addresses: AddressMap
  /// Finds upstream URLs in responses.
  let matcher: UpstreamURLMatcher
  let origin: Origin
  let authority: String
  /// The endpoint's port.
  let port: UInt16
  let url: String
  let access: ReadyAccess
  /// The type of the last response; most responses have the same.
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

  /// Returns nil unless requests are only forwarded: not matched, recorded or given additional header fields.
  ///
  /// Also returns nil if patterns redact the journal: they may take long, and other requests wait for the same thread.
  init?(_ pipeline: Pipeline, _ client: UpstreamClient, upstream: Int) {
    let environment = pipeline.environment
    guard environment.replay == nil, environment.recorder == nil, environment.mode.mayReachNetwork,
      environment.access[upstream].headers.isEmpty, environment.access[upstream].destination == nil,
      environment.redactor.rules.patterns.isEmpty
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

  /// Undoes ``enter()`` for a request that ``Pipeline`` handles and counts instead.
  func leave() { environment.state.withLock { $0.requests -= 1 } }
}
