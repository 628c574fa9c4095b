/// Takes the screenshots of one attempt at a scenario, and attaches those that are kept.
///
/// When a step fails, screenshots so far are attached at once, so that they belong to that step. A failed screenshot never
/// fails the scenario: a text that says why replaces it.
package struct ScreenshotRecorder {
  private let policy: ScreenshotPolicy
  private let screens: ScenarioScreens
  private let attach: (_ bytes: [UInt8], _ mediaType: String, _ name: String) -> Void
  /// Screenshots that are kept only if the scenario fails.
  private var held: [Screenshot] = []
  private var kept: [Screenshot] = []
  private var hasFailed = false
  private var step = 0

  /// - Parameters:
  ///   - policy: when to take screenshots.
  ///   - screens: the scenario's screens.
  ///   - attach: receives each screenshot that is kept, its media type, and a file name.
  package init(
    policy: ScreenshotPolicy = .standard, screens: ScenarioScreens,
    attach: @escaping (_ bytes: [UInt8], _ mediaType: String, _ name: String) -> Void
  ) {
    self.policy = policy
    self.screens = screens
    self.attach = attach
  }

  /// Call it before each step.
  package mutating func beforeStep(_ text: String) async {
    step += 1
    if policy.moments.contains(.beforeStep) { await take("\(step) before \(text)") }
  }

  /// Call it after each step.
  package mutating func afterStep(_ text: String, failed: Bool) async {
    if failed, !policy.moments.isDisjoint(with: [.onFailure, .afterStep]) {
      await take("\(step) failed \(text)")
    } else if policy.moments.contains(.afterStep) {
      await take("\(step) after \(text)")
    }
    if failed { keepAll() }
  }

  /// Call it at the end of the scenario, while its screens still exist.
  ///
  /// - Parameter failed: whether a step or a hook has failed.
  /// - Returns: the screenshots that are kept. All have been attached.
  package mutating func scenarioEnded(failed: Bool) async -> [Screenshot] {
    if failed, !hasFailed {
      if policy.moments.contains(.onFailure) { await take("at the failed end") }
      keepAll()
    }
    held = []
    return kept
  }

  private mutating func keepAll() {
    hasFailed = true
    for screenshot in held { keep(screenshot) }
    held = []
  }

  private mutating func keep(_ screenshot: Screenshot) {
    kept.append(screenshot)
    attach(screenshot.bytes, screenshot.mediaType, "\(screenshot.name).\(screenshot.fileExtension)")
  }

  private mutating func take(_ moment: String) async {
    let sources = screens.sources
    for source in sources {
      let name = Self.fileName(sources.count > 1 ? "\(moment) (\(source.name))" : moment)
      var screenshot: Screenshot
      do {
        screenshot = try await source.screenshot(quality: policy.quality)
        screenshot.name = name
      } catch {
        let text = "no screenshot of \(source.name): \(error)"
        screenshot = Screenshot(name: name, bytes: Array(text.utf8), mediaType: "text/plain", text: text)
      }
      if policy.lifetime == .keepAlways || hasFailed { keep(screenshot) } else { held.append(screenshot) }
    }
  }

  private static func fileName(_ name: String) -> String {
    let allowed = name.map { "/\\:\0".contains($0) || $0.isNewline ? "-" : $0 }
    return String(allowed.prefix(100))
  }
}
