import Basics
public import DioramaScenarios
public import Foundation

/// A web page in its own headless Chromium, without a window or port. The only network requests are the page's own.
///
/// Use it with page objects. It reports when the page has changed, so waits don't need to poll.
///
/// ```swift
/// let page = try await ChromiumPage()
/// try await page.open(environment.endpoint("web"))
/// try await page.type("ann", into: .css("#name"))
/// try await page.click(.role("button", "Log in"))
/// try await page.wait(forText: "Welcome, ann")
/// ```
///
/// Chromium starts with the variables of the current `TestEnvironment`, if there is one. It ends when this object is
/// released, or with the test process at the latest; its temporary profile is removed. Its path is the variable
/// `CHROMIUM`, or else `chromium`, `chromium-browser` or `google-chrome` in `PATH`. Its own requests for `/favicon.ico`
/// are not sent.
public final class ChromiumPage: Screen {
  /// A request that failed, or that was answered with an error status.
  public struct FailedRequest: Sendable, Equatable {
    /// The URL of the request.
    public var url: String
    /// The reason, such as `net::ERR_CONNECTION_REFUSED` or `status 404`.
    public var reason: String
  }

  struct State {
    /// Grows with each change of the page.
    var revision = 0
    /// The loader of each document whose `load` event has happened.
    var loaded: Set<String> = []
    var session: String?
    var consoleErrors: [String] = []
    var failedRequests: [FailedRequest] = []
    var dialogs: [String] = []
    /// The URLs of running requests.
    var requests: [String: String] = [:]
    var hasEnded = false
  }

  let process: ChromiumProcess
  let state = Monitor(State())
  /// The time limit of a single command, and of opening a page.
  public let timeout: Duration

  /// Starts Chromium with an empty page.
  ///
  /// - Parameters:
  ///   - width: the width of the page in CSS pixels.
  ///   - height: the height of the page in CSS pixels.
  ///   - executable: a Chromium; nil to look it up.
  ///   - arguments: further command-line arguments, such as `--host-resolver-rules=MAP * 127.0.0.1` or
  ///     `--proxy-server=…`.
  ///   - timeout: the time limit for starting, for a single command, and for opening a page.
  /// - Throws: ``ScreenError`` if Chromium cannot be started.
  public init(
    width: Int = 1280, height: Int = 800, executable: String? = nil, arguments: [String] = [],
    timeout: Duration = .seconds(30)
  ) async throws {
    self.timeout = timeout
    process = try ChromiumProcess(executable: executable, arguments: arguments, width: width, height: height)
    let state = state
    // Not the page, which would never be released.
    let connection = Weak(process.connection)
    process.start {
      Self.handle($0, $1, state, connection)
    } onEnd: {
      state.withLock { $0.hasEnded = true }
    }
    do {
      try await attach(width, height)
    } catch let error as ScreenError {
      await process.end()
      throw ScreenError(.notStarted, "Chromium did not start: \(error)")
    }
  }

  /// A short name for attachments.
  public var name: String { "page" }

  private func attach(_ width: Int, _ height: Int) async throws {
    let targets = try await command("Target.getTargets")["targetInfos"]?.array ?? []
    let existing = targets.first { $0["type"]?.string == "page" }?["targetId"]
    let target: JSON?
    if let existing {
      target = existing
    } else {
      target = try await command("Target.createTarget", ["url": .string("about:blank")])["targetId"]
    }
    let answer = try await command("Target.attachToTarget", ["targetId": target ?? .null, "flatten": .bool(true)])
    state.withLock { $0.session = answer["sessionId"]?.string }
    for domain in ["Page", "Runtime", "Network", "Log", "DOM", "Inspector"] {
      _ = try await command("\(domain).enable")
    }
    // Chromium requests it on its own. In an environment, each page would send a request that no stub or cassette has.
    let icon: JSON = .object(["urlPattern": .string("*/favicon.ico"), "resourceType": .string("Other")])
    _ = try await command("Fetch.enable", ["patterns": .array([icon])])
    _ = try await command("Page.setLifecycleEventsEnabled", ["enabled": .bool(true)])
    _ = try await command("Runtime.addBinding", ["name": .string(PageScript.binding)])
    _ = try await command("Page.addScriptToEvaluateOnNewDocument", ["source": .string(PageScript.observer)])
    try await resize(width: width, height: height)
  }

  /// Sends a command of the DevTools protocol to the page.
  @discardableResult
  func command(
    _ method: String, _ parameters: [String: JSON] = [:], timeout: Duration? = nil
  ) async throws -> JSON {
    try await process.connection.send(
      method, parameters, session: state.withLock { $0.session }, timeout: timeout ?? self.timeout)
  }

  // MARK: Opening

  /// Opens a URL, and waits for the page's `load` event.
  ///
  /// A response with an error status also counts as a page; see ``failedRequests``.
  ///
  /// - Parameter url: the URL: `http`, `https`, `file` or `data`.
  /// - Throws: ``ScreenError`` if the page cannot be opened, or does not load within ``timeout``.
  public func open(_ url: URL) async throws {
    let answer = try await command("Page.navigate", ["url": .string(url.absoluteString)])
    let shown = url.absoluteString.prefix(200)
    if let error = answer["errorText"]?.string, !error.isEmpty {
      // A page that crashes while it loads fails with ERR_ABORTED.
      if state.withLock({ $0.hasEnded }) { try await command("Page.enable") }
      throw ScreenError(.notOpened, "cannot open \(shown): \(error); check the URL, and that its server runs")
    }
    // None: a move within the document.
    guard let loader = answer["loaderId"]?.string else { return }
    let isLoaded = try await state.wait(until: .now + timeout) { $0.loaded.contains(loader) || $0.hasEnded }
    if state.withLock({ $0.hasEnded }) { try await command("Page.enable") }
    guard isLoaded else {
      let open = state.withLock { Set($0.requests.values) }.sorted().prefix(5).joined(separator: ", ")
      throw ScreenError(
        .timedOut,
        "\(shown) did not load within \(timeout)" + (open.isEmpty ? "" : "; it waits for \(open)"))
    }
  }

  /// Changes the size of the page.
  ///
  /// - Parameters:
  ///   - width: the width in CSS pixels.
  ///   - height: the height in CSS pixels.
  ///   - scale: the number of device pixels per CSS pixel.
  /// - Throws: ``ScreenError``.
  public func resize(width: Int, height: Int, scale: Double = 1) async throws {
    try await command(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": .int(width), "height": .int(height), "deviceScaleFactor": .double(scale), "mobile": .bool(false),
      ])
  }

  /// Sets whether pages see a preference for dark colors.
  ///
  /// - Parameter isDark: whether `prefers-color-scheme` is `dark`.
  /// - Throws: ``ScreenError``.
  public func preferDarkColors(_ isDark: Bool) async throws {
    let feature: [String: JSON] = [
      "name": .string("prefers-color-scheme"), "value": .string(isDark ? "dark" : "light"),
    ]
    try await command("Emulation.setEmulatedMedia", ["features": .array([.object(feature)])])
  }

  /// Ends Chromium, and waits until its profile is removed.
  public func close() async { await process.end() }

  // MARK: Reading

  /// Evaluates a JavaScript expression in the page; a promise is awaited.
  ///
  /// ```swift
  /// let title = try await page.evaluate("document.title", as: String.self)
  /// ```
  ///
  /// - Parameters:
  ///   - script: the expression.
  ///   - type: the type of the value, which comes as JSON; `undefined` comes as null.
  ///   - timeout: the time limit; the page's by default.
  /// - Returns: the value.
  /// - Throws: ``ScreenError`` if the script throws, takes too long, or the value is of another type.
  public func evaluate<Value: Decodable>(
    _ script: String, as type: Value.Type, timeout: Duration? = nil
  ) async throws -> Value {
    let value = try await json(script, timeout)
    // In an array, because a fragment is no document for every decoder.
    do {
      let bytes = JSON.array([value]).encoded()
      let values = try JSONDecoder().decode([Value].self, from: Data(bytes))
      return values[0]
    } catch {
      let text = String(decoding: value.encoded(), as: UTF8.self)
      throw ScreenError(
        .script, "the script's value is no \(Value.self): \(text.prefix(200)); script: \(script.prefix(200))")
    }
  }

  /// Runs a JavaScript expression in the page, and ignores its value.
  ///
  /// - Parameters:
  ///   - script: the expression.
  ///   - timeout: the time limit; the page's by default.
  /// - Throws: ``ScreenError`` if the script throws or takes too long.
  public func run(_ script: String, timeout: Duration? = nil) async throws { _ = try await json(script, timeout) }

  private func json(_ script: String, _ timeout: Duration?) async throws -> JSON {
    try await evaluate(script, byValue: true, timeout: timeout)["value"] ?? .null
  }

  func evaluate(_ script: String, byValue: Bool, timeout: Duration? = nil) async throws -> JSON {
    let answer = try await command(
      "Runtime.evaluate",
      [
        "expression": .string(script), "returnByValue": .bool(byValue), "awaitPromise": .bool(true),
        "userGesture": .bool(true),
      ], timeout: timeout)
    if let details = answer["exceptionDetails"] { throw Self.failure(details) }
    return answer["result"] ?? .null
  }

  static func failure(_ details: JSON) -> ScreenError {
    let text = details["exception"]?["description"]?.string ?? details["text"]?.string ?? "unknown error"
    let line = details["lineNumber"]?.int.map { " (line \($0 + 1))" } ?? ""
    return ScreenError(.script, "the page's script failed\(line): \(text)")
  }

  /// The text that is visible now.
  public func visibleText() async throws -> String {
    try await evaluate("document.body ? document.body.innerText : ''", as: String.self)
  }

  /// The URL that is shown.
  ///
  /// - Throws: ``ScreenError``.
  public func url() async throws -> String { try await evaluate("location.href", as: String.self) }

  /// A number that grows with each change.
  public var revision: Int { state.withLock { $0.revision } }

  /// Waits until something has changed; see ``Screen``.
  public func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int? {
    try await state.wait(until: deadline) { $0.revision > revision || $0.hasEnded }
    let (new, hasEnded) = state.withLock { ($0.revision, $0.hasEnded) }
    return new > revision && !hasEnded ? new : nil
  }

  /// Uncaught exceptions and `console.error` messages since the start.
  public var consoleErrors: [String] { state.withLock { $0.consoleErrors } }

  /// Requests of the page that failed, or were answered with a status from 400, since the start.
  public var failedRequests: [FailedRequest] { state.withLock { $0.failedRequests } }

  /// The messages of dialogs (`alert`, `confirm`, `prompt`). Each dialog was accepted immediately.
  public var dialogs: [String] { state.withLock { $0.dialogs } }

  // MARK: Screenshots

  /// A screenshot of the visible part of the page.
  public func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
    try await screenshot(quality: quality, isWholePage: false)
  }

  /// A screenshot of the page.
  ///
  /// - Parameters:
  ///   - quality: the quality: PNG, or JPEG with a quality of 80 or 40 percent.
  ///   - isWholePage: whether to include the parts outside the viewport.
  /// - Returns: the picture, with the visible text.
  /// - Throws: ``ScreenError``.
  public func screenshot(quality: ScreenshotQuality, isWholePage: Bool) async throws -> Screenshot {
    var parameters: [String: JSON] = ["captureBeyondViewport": .bool(isWholePage)]
    parameters["format"] = .string(quality == .original ? "png" : "jpeg")
    if quality != .original { parameters["quality"] = .int(quality == .medium ? 80 : 40) }
    let answer = try await command("Page.captureScreenshot", parameters)
    guard let data = Data(base64Encoded: answer["data"]?.string ?? "") else {
      throw ScreenError(.script, "Chromium sent a picture that is not Base64")
    }
    return Screenshot(
      name: name, bytes: Array(data), mediaType: quality == .original ? "image/png" : "image/jpeg",
      text: try await visibleText())
  }
}

/// A reference that does not keep its object alive.
private final class Weak<Object: AnyObject & Sendable>: @unchecked Sendable {
  // Weak references are safe to read on any thread; this one is never written.
  weak let object: Object?
  init(_ object: Object) { self.object = object }
}

extension ChromiumPage {
  /// Handles an event, on the connection's thread.
  private static func handle(
    _ method: String, _ parameters: JSON, _ state: Monitor<State>, _ connection: Weak<DevToolsConnection>
  ) {
    let request = parameters["requestId"]?.string ?? ""
    switch method {
    case "Runtime.bindingCalled", "Page.frameNavigated", "Page.navigatedWithinDocument":
      state.withLock { $0.revision += 1 }
    case "Page.lifecycleEvent":
      state.withLock { state in
        state.revision += 1
        if parameters["name"]?.string == "load" { state.loaded.insert(parameters["loaderId"]?.string ?? "") }
      }
    case "Page.javascriptDialogOpening":
      state.withLock { state in
        state.dialogs.append(parameters["message"]?.string ?? "")
        state.revision += 1
      }
      connection.object?.post(
        "Page.handleJavaScriptDialog", ["accept": .bool(true)], session: state.withLock { $0.session })
    case "Fetch.requestPaused":
      connection.object?.post(
        "Fetch.failRequest", ["requestId": .string(request), "errorReason": .string("Aborted")],
        session: state.withLock { $0.session })
    case "Runtime.exceptionThrown":
      let text = failure(parameters["exceptionDetails"] ?? .null).description
      state.withLock { $0.consoleErrors.append(text) }
    case "Runtime.consoleAPICalled" where parameters["type"]?.string == "error":
      let texts = (parameters["args"]?.array ?? []).map { argument in
        argument["value"].map { $0.string ?? String(decoding: $0.encoded(), as: UTF8.self) }
          ?? argument["description"]?.string ?? ""
      }
      state.withLock { $0.consoleErrors.append(texts.joined(separator: " ")) }
    case "Network.requestWillBeSent":
      state.withLock { $0.requests[request] = parameters["request"]?["url"]?.string ?? "" }
    case "Network.responseReceived":
      guard let status = parameters["response"]?["status"]?.int, status >= 400 else { return }
      let url = parameters["response"]?["url"]?.string ?? ""
      state.withLock { $0.failedRequests.append(FailedRequest(url: url, reason: "status \(status)")) }
    case "Network.loadingFinished": state.withLock { $0.requests[request] = nil }
    case "Network.loadingFailed":
      state.withLock { state in
        let url = state.requests.removeValue(forKey: request) ?? ""
        guard parameters["canceled"]?.bool != true else { return }
        state.failedRequests.append(FailedRequest(url: url, reason: parameters["errorText"]?.string ?? "failed"))
      }
    case "Inspector.targetCrashed", "Inspector.detached", "Target.detachedFromTarget":
      connection.object?.fail(
        ScreenError(
          .ended,
          "the page crashed (\(method)); launch another one, and look for too much memory or a script that quits"))
      state.withLock { $0.hasEnded = true }
    default: break
    }
  }
}
