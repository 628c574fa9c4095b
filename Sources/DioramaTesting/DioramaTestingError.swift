/// What went wrong on the test's side of Diorama.
///
/// ``description`` says what, where and what to do next; where an application is involved, the last lines of its output
/// follow. Swift Testing and XCTest print it as it is.
///
/// ```swift
/// do {
///   try await app.wait(forOutput: "booked", timeout: .seconds(5))
/// } catch let error as DioramaTestingError where error.kind == .timedOut {
///   …
/// }
/// ```
public struct DioramaTestingError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Kind: Sendable {
    /// Something was asked for that makes no sense, or a name or variable is wrong.
    case usage
    /// The environment could not be provisioned or changed: no cassette, a broken one, no upstream.
    case environment
    /// The application could not be started.
    case notStarted
    /// What was waited for did not come in time.
    case timedOut
    /// The application ended, so that what was waited for cannot come any more.
    case ended
  }

  /// Which kind of failure this is.
  public let kind: Kind
  /// What, where and what to do next.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
