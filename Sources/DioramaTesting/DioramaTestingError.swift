/// An error on the test's side of Diorama.
///
/// ``description`` says what happened, where, and what to do next. If an application is involved, the last lines of its
/// output follow. Swift Testing and XCTest print it unchanged.
///
/// ```swift
/// do {
///   try await app.wait(forOutput: "booked", timeout: .seconds(5))
/// } catch let error as DioramaTestingError where error.kind == .timedOut {
///   …
/// }
/// ```
public struct DioramaTestingError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The categories of errors.
  public enum Kind: Sendable {
    /// An invalid request, name or environment variable.
    case usage
    /// The environment could not be provisioned or changed: the cassette is missing or invalid, or an upstream is missing.
    case environment
    /// The application could not be launched.
    case notStarted
    /// The time limit passed.
    case timedOut
    /// The application ended before the awaited event.
    case ended
  }

  /// The category of the error.
  public let kind: Kind
  /// What happened, where, and what to do next.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
