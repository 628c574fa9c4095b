import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import Dispatch
  import FoundationNetworking

  /// Details of a protocol's task that Foundation does not expose on Linux.
  ///
  /// swift-corelibs-foundation does not pass the bodies of upload tasks and the session's header fields to protocols,
  /// and passes only the last piece of a response to a completion handler. Reflection finds what is missing. If it
  /// fails, uploads fail, and everything else works with the request's own fields.
  struct FoundationTask: @unchecked Sendable {
    private let task: URLSessionTask?
    private let session: URLSession?
    private let known: Upload?
    /// Whether each piece of a response reaches the session's delegate.
    let takesPieces: Bool

    /// Called when the protocol starts, on the session's queue, which guards the values that are read.
    init(_ task: URLSessionTask?) {
      self.task = task
      session = task.flatMap { Self.member("session", of: $0) as? URLSession }
      known = task.flatMap { Self.member("knownBody", of: $0) }.flatMap(Self.upload)
      let registry = session.flatMap { Self.member("taskRegistry", of: $0) }
      let behaviors = registry.flatMap { Self.member("behaviours", of: $0) }
      let own = behaviors.flatMap { behaviors in
        Mirror(reflecting: behaviors).children.lazy
          .compactMap { Self.pair($0.value) }
          .first { $0.key == task?.taskIdentifier }?.value
      }
      // An enum case.
      let name = own.map { Mirror(reflecting: $0).children.first?.label ?? "\($0)" }
      takesPieces = name.map { !$0.contains("CompletionHandler") } ?? false
    }

    /// The reason why the task is not supported; nil if it is.
    var problem: URLError? {
      guard task is URLSessionDownloadTask else { return nil }
      return URLError(
        .cannotCreateFile,
        "on Linux, Foundation doesn't support download tasks through a URLProtocol; use a data task")
    }

    var timeout: TimeInterval? { session?.configuration.timeoutIntervalForRequest }
    var cookies: HTTPCookieStorage? { session?.configuration.httpCookieStorage }
    /// The header fields that the session adds.
    var headers: [String: String] {
      var headers: [String: String] = [:]
      for (name, value) in session?.configuration.httpAdditionalHeaders ?? [:] { headers["\(name)"] = "\(value)" }
      return headers
    }

    /// The body of the request.
    func upload(of request: URLRequest) async throws -> Upload {
      if let known { return known }
      if let body = request.httpBody { return .bytes(Array(body)) }
      if let stream = request.httpBodyStream { return .stream(stream) }
      guard let task = task as? URLSessionUploadTask else { return .none }
      guard let session, let delegate = delegate else {
        throw URLError(
          .requestBodyStreamExhausted,
          "Foundation doesn't expose the body of this upload task; set the request's httpBody, and use a data task")
      }
      let stream = await withCheckedContinuation { continuation in
        delegate.urlSession(session, task: task) { continuation.resume(returning: UncheckedStream(stream: $0)) }
      }.stream
      return stream.map { .stream($0) } ?? .none
    }

    /// Asks the session's delegate whether to follow a redirection.
    ///
    /// - Returns: the request to send; nil to deliver the redirecting response.
    func approve(_ request: URLRequest, after response: HTTPURLResponse) async -> URLRequest? {
      guard let task, let session, let delegate else { return request }
      return await withCheckedContinuation { continuation in
        session.delegateQueue.addOperation {
          delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
            continuation.resume(returning: $0)
          }
        }
      }
    }

    private var delegate: (any URLSessionTaskDelegate)? {
      task?.delegate ?? session?.delegate as? any URLSessionTaskDelegate
    }

    private struct UncheckedStream: @unchecked Sendable { let stream: InputStream? }

    private static func upload(_ body: Any) -> Upload? {
      guard let content = Mirror(reflecting: body).children.first?.value else { return nil }
      switch content {
      case let data as DispatchData: return .bytes(Array(data))
      case let url as URL: return .file(url)
      case let stream as InputStream: return .stream(stream)
      default: return nil
      }
    }

    private static func pair(_ value: Any) -> (key: Int, value: Any)? {
      let parts = Mirror(reflecting: value).children.map(\.value)
      guard parts.count == 2, let key = parts[0] as? Int else { return nil }
      return (key, parts[1])
    }

    /// A stored property, without its optional.
    private static func member(_ name: String, of object: Any) -> Any? {
      var mirror: Mirror? = Mirror(reflecting: object)
      while let current = mirror {
        if let value = current.children.first(where: { $0.label == name })?.value {
          let content = Mirror(reflecting: value)
          return content.displayStyle == .optional ? content.children.first?.value : value
        }
        mirror = current.superclassMirror
      }
      return nil
    }
  }
#else
  /// Details of a protocol's task.
  struct FoundationTask: @unchecked Sendable {
    let takesPieces = true
    let problem: URLError? = nil
    let timeout: TimeInterval? = nil
    let cookies: HTTPCookieStorage? = nil
    let headers: [String: String] = [:]

    init(_ task: URLSessionTask?) {}

    /// The body of the request.
    func upload(of request: URLRequest) async throws -> Upload {
      if let body = request.httpBody { return .bytes(Array(body)) }
      return request.httpBodyStream.map { .stream($0) } ?? .none
    }
  }
#endif
