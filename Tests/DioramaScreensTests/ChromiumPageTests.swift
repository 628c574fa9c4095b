import DioramaScenarios
@testable import DioramaScreens
import DioramaTesting
import Foundation
import HTTPMessages
import TestSupport
import Testing

@Suite("A page in headless Chromium")
struct ChromiumPageTests {
  /// A page in a data URL.
  static func page(_ body: String) throws -> URL {
    let html = "<!DOCTYPE html><meta charset=utf-8><title>Clinic</title><body>\(body)"
    return try #require(URL(string: "data:text/html;base64," + Data(html.utf8).base64EncodedString()))
  }

  static let form = """
    <h1>Clinic</h1>
    <label>Name <input id=name value="Bob"></label>
    <button onclick="setTimeout(() => document.querySelector('#out').textContent = 'Welcome, ' + name.value, 50);
      const name = document.querySelector('#name')">Log in</button>
    <p id=out></p><p hidden>a secret</p>
    """

  @Test("types, clicks, and waits for the text that appears later")
  func form() async throws {
    let page = try await ChromiumPage()
    try await page.open(Self.page(Self.form))
    #expect(try await page.evaluate("document.title", as: String.self) == "Clinic")
    #expect(try await !page.visibleText().contains("secret"))
    try await page.type("Ann ✓", into: .css("#name"))
    try await page.click(.role("button", "Log in"))
    try await page.wait(forText: "Welcome, Ann ✓")
    #expect(try await page.has(.text("Welcome, Ann ✓")))
    #expect(try await !page.has(.text("a secret")))
    #expect(page.consoleErrors == [])
    #expect(page.failedRequests == [])
    await page.close()
  }

  @Test("takes pictures of each quality, with the text on them")
  func pictures() async throws {
    let page = try await ChromiumPage(width: 400, height: 300)
    try await page.open(Self.page(Self.form))
    let original = try await page.screenshot(quality: .original)
    #expect(original.mediaType == "image/png")
    #expect(original.bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    #expect(original.bytes[16..<24].elementsEqual([0, 0, 1, 0x90, 0, 0, 1, 0x2C]))
    #expect(original.text?.contains("Clinic") == true)
    let sizes = try await [ScreenshotQuality.medium, .low].asyncMap { quality in
      let picture = try await page.screenshot(quality: quality)
      #expect(picture.mediaType == "image/jpeg")
      #expect(picture.bytes.starts(with: [0xFF, 0xD8]))
      return picture.bytes.count
    }
    #expect(sizes[0] > sizes[1])
    if let path = ProcessInfo.processInfo.environment["DIORAMA_KEEP_SCREENSHOT"] {
      try Data(original.bytes).write(to: URL(filePath: path))
    }
    await page.close()
  }

  @Test("reports console errors, exceptions, failed requests and dialogs")
  func problems() async throws {
    let upstream = try ScriptedUpstream { connection in
      try connection.serve { head in
        head.hasPrefix("GET / ")
          ? "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(Self.broken.utf8.count)\r\n\r\n\(Self.broken)"
          : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
      }
    }
    defer { upstream.stop() }
    let page = try await ChromiumPage()
    let url = "http://127.0.0.1:\(upstream.origin.port)"
    try await page.open(#require(URL(string: url + "/")))
    try await page.wait(forText: "done")
    #expect(page.consoleErrors.contains("it broke 7"))
    #expect(page.consoleErrors.contains { $0.contains("ReferenceError") && $0.contains("missing") })
    #expect(page.failedRequests.contains { $0.url == url + "/missing.png" && $0.reason == "status 404" })
    #expect(page.dialogs == ["hello"])
    await page.close()
  }

  static let broken = """
    <img src="/missing.png"><script>console.error('it broke', 7); alert('hello');</script><script>missing();</script>
    <p>done</p>
    """

  @Test("says what is wrong with a URL that cannot be opened")
  func unreachable() async throws {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: nil)
    defer { close(descriptor) }
    let page = try await ChromiumPage()
    let error = try await #require(throws: ScreenError.self) {
      try await page.open(#require(URL(string: "http://127.0.0.1:\(port)/")))
    }
    #expect(error.kind == .notOpened)
    #expect(error.description.contains("ERR_CONNECTION_REFUSED"))
    await page.close()
  }

  @Test("names the nearest element and what is visible when an element is missing")
  func missingElement() async throws {
    let page = try await ChromiumPage()
    try await page.open(Self.page(Self.form))
    let error = try await #require(throws: ScreenError.self) {
      try await page.click(.role("button", "Log on"), timeout: .milliseconds(100))
    }
    #expect(error.kind == .notFound)
    #expect(error.description.contains("'Log in'"))
    #expect(error.description.contains("Clinic"))
    await page.close()
  }

  @Test("refuses to click what another element covers")
  func covered() async throws {
    let page = try await ChromiumPage()
    try await page.open(
      Self.page("<button>Pay</button><div id=cover style='position:fixed;inset:0;background:white'>Cookies?</div>"))
    let error = try await #require(throws: ScreenError.self) { try await page.click(.css("button")) }
    #expect(error.description.contains(#"<div id="cover""#))
    await page.close()
  }

  @Test("fails with the script's error, and with the value's type")
  func scripts() async throws {
    let page = try await ChromiumPage()
    let error = try await #require(throws: ScreenError.self) { try await page.run("nothing.here") }
    #expect(error.kind == .script)
    #expect(error.description.contains("ReferenceError"))
    #expect(try await page.evaluate("Promise.resolve({a: [1, 2]})", as: [String: [Int]].self) == ["a": [1, 2]])
    await #expect(throws: ScreenError.self) { try await page.evaluate("'text'", as: Int.self) }
    await page.close()
  }

  @Test("says that the page crashed")
  func crash() async throws {
    let page = try await ChromiumPage()
    let crash = try await #require(throws: ScreenError.self) { try await page.command("Page.crash") }
    #expect(crash.kind == .ended)
    #expect(crash.description.hasPrefix("the page crashed"))
    let later = try await #require(throws: ScreenError.self) { try await page.wait(forText: "x") }
    #expect(later.kind == .ended)
    await page.close()
  }

  @Test("says that a page does not answer")
  func endless() async throws {
    let page = try await ChromiumPage()
    let error = try await #require(throws: ScreenError.self) {
      try await page.run("(() => { while (true) {} })()", timeout: .milliseconds(500))
    }
    #expect(error.kind == .timedOut)
    #expect(error.description.contains("endless"))
    await page.close()
  }

  @Test("fails clearly without a Chromium")
  func noChromium() async throws {
    let error = try await #require(throws: ScreenError.self) {
      _ = try await ChromiumPage(executable: "/nowhere/chromium")
    }
    #expect(error.kind == .notStarted)
    #expect(error.description.contains("CHROMIUM"))
    let other = try await #require(throws: ScreenError.self) { _ = try await ChromiumPage(executable: "/bin/false") }
    #expect(other.kind == .notStarted)
  }

  @Test("sees names and roles as assistive technology does, and keys")
  func accessibility() async throws {
    let page = try await ChromiumPage()
    try await page.open(
      Self.page("<form onsubmit=\"out.textContent = 'sent'; return false\"><input aria-label=Code></form><p id=out>"))
    #expect(try await page.accessibleElements().contains { $0.role == "textbox" && $0.name == "Code" })
    try await page.type("7", into: .role("textbox", "Code"))
    try await page.press(.enter)
    try await page.wait(forText: "sent")
    await page.close()
  }

  @Test("follows links to the next page object, and names the page that is presented instead")
  func pageObjects() async throws {
    let page = try await ChromiumPage()
    let second = try Self.page("<h2>Second</h2>").absoluteString
    try await page.open(
      Self.page(
        "<h2>First</h2><a href='#' onclick='show()'>Next</a><script>function show() "
          + "{ setTimeout(() => document.body.innerHTML = '<h2>Second</h2>', 30) }</script>"))
    let title = try await FirstPage(page).next().title()
    #expect(title == "Second")
    #expect(second.hasPrefix("data:"))
    let error = try await ScenarioScreens.$current.withValue(ScenarioScreens()) {
      _ = try await SecondPage(page)
      return try await #require(throws: ScreenError.self) { _ = try await FirstPage(page, timeout: .milliseconds(50)) }
    }
    #expect(error.kind == .notPresented)
    #expect(
      error.description.contains("FirstPage was not presented within 0.05 seconds; SecondPage is presented instead"))
    await page.close()
  }

  struct FirstPage: PageObject {
    let screen: ChromiumPage
    func isPresented() async throws -> Bool { try await screen.has(.text("First")) }
    func next() async throws -> SecondPage {
      try await screen.click(.role("link", "Next"))
      return try await SecondPage(screen)
    }
  }

  struct SecondPage: PageObject {
    let screen: ChromiumPage
    func isPresented() async throws -> Bool { try await screen.has(.css("h2:not(:has(+ a))")) }
    func title() async throws -> String {
      try await screen.evaluate("document.querySelector('h2').innerText", as: String.self)
    }
  }

  @Test("ends Chromium and removes its profile when it is closed")
  func closed() async throws {
    let page = try await ChromiumPage()
    let folder = page.process.folder
    #expect(FileManager.default.fileExists(atPath: folder))
    await page.close()
    #expect(!FileManager.default.fileExists(atPath: folder))
    #expect(kill(page.process.process.pid, 0) != 0)
    let error = try await #require(throws: ScreenError.self) { try await page.visibleText() }
    #expect(error.description == "the page was closed; launch another one")
  }

  @Test("ends Chromium and removes its profile when it is released")
  func released() async throws {
    var page: ChromiumPage? = try await ChromiumPage()
    let process = try #require(page?.process.process)
    let folder = try #require(page?.process.folder)
    page = nil
    let end = await process.end(within: .seconds(30))
    #expect(end != nil)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test("resolves names and takes pictures of the whole page, in dark colors")
  func arguments() async throws {
    let upstream = try ScriptedUpstream { connection in
      try connection.serve { head in
        let host = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("host:") } ?? ""
        let body = "<body style='height:3000px;margin:0'><p>\(host)"
        return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      }
    }
    defer { upstream.stop() }
    let page = try await ChromiumPage(
      width: 300, height: 200, arguments: ["--host-resolver-rules=MAP * 127.0.0.1:\(upstream.origin.port)"])
    try await page.open(#require(URL(string: "http://clinic.example/")))
    try await page.wait(forText: "clinic.example")
    let picture = try await page.screenshot(quality: .original, isWholePage: true)
    #expect(picture.bytes[20..<24].elementsEqual([0, 0, 0x0B, 0xB8]))
    let isDark = "matchMedia('(prefers-color-scheme: dark)').matches"
    #expect(try await !page.evaluate(isDark, as: Bool.self))
    try await page.preferDarkColors(true)
    #expect(try await page.evaluate(isDark, as: Bool.self))
    await page.close()
  }
}

extension Sequence {
  fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
