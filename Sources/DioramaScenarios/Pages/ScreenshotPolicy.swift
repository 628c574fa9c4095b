import Basics
public import XCTest

/// When screenshots of a scenario's screens are taken, and whether they are kept.
///
/// ```swift
/// ScreenshotPolicy.standard = ScreenshotPolicy([.onFailure, .afterStep], quality: .low, lifetime: .keepAlways)
/// ```
public struct ScreenshotPolicy: Sendable, Equatable {
  /// The moments at which screenshots are taken.
  public struct Moments: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// When a step has failed, or a scenario fails outside of its steps.
    public static let onFailure = Moments(rawValue: 1)
    /// Before each step.
    public static let beforeStep = Moments(rawValue: 2)
    /// After each step.
    public static let afterStep = Moments(rawValue: 4)
  }

  /// How long a screenshot is kept, as in `XCTAttachment.Lifetime`.
  public enum Lifetime: Sendable {
    /// Only failed scenarios keep their screenshots.
    case deleteOnSuccess
    /// All screenshots are kept.
    case keepAlways
  }

  /// The moments at which screenshots are taken.
  public var moments: Moments
  /// Their quality.
  public var quality: ScreenshotQuality
  /// How long they are kept.
  public var lifetime: Lifetime

  /// - Parameters:
  ///   - moments: the moments at which screenshots are taken.
  ///   - quality: their quality.
  ///   - lifetime: how long they are kept.
  public init(
    _ moments: Moments, quality: ScreenshotQuality = .medium, lifetime: Lifetime = .deleteOnSuccess
  ) {
    self.moments = moments
    self.quality = quality
    self.lifetime = lifetime
  }

  private static let shared = Guarded(ScreenshotPolicy([.onFailure]))

  /// The policy of the scenarios that start from now on. The default is a screenshot on failure.
  public static var standard: ScreenshotPolicy {
    get { shared.withLock { $0 } }
    set { shared.withLock { $0 = newValue } }
  }
}

extension XCTestCase {
  /// Sets when screenshots of scenarios are taken, for all scenarios that start from now on. The same as setting
  /// ``ScreenshotPolicy/standard``, with the name from XCTest-Gherkin.
  ///
  /// ```swift
  /// XCTestCase.setAutomaticScreenshotsBehaviour(
  ///   [.onFailure, .beforeStep, .afterStep], quality: .medium, lifetime: .deleteOnSuccess)
  /// ```
  ///
  /// - Parameters:
  ///   - behaviour: the moments at which screenshots are taken.
  ///   - quality: their quality.
  ///   - lifetime: how long they are kept.
  public static func setAutomaticScreenshotsBehaviour(
    _ behaviour: ScreenshotPolicy.Moments, quality: ScreenshotQuality = .medium,
    lifetime: ScreenshotPolicy.Lifetime = .deleteOnSuccess
  ) {
    ScreenshotPolicy.standard = ScreenshotPolicy(behaviour, quality: quality, lifetime: lifetime)
  }
}
