import DioramaScenarios
import DioramaScreens
import DioramaTesting
import Foundation
import Testing

@Suite("A terminal screen")
struct TerminalScreenTests {
  private func shell(_ script: String, columns: Int = 40, rows: Int = 6) async throws -> TerminalScreen {
    try await TerminalScreen("/bin/sh", arguments: ["-c", script], columns: columns, rows: rows)
  }

  @Test("shows what a program draws, with colors, attributes and the cursor")
  func cells() async throws {
    let terminal = try await shell(
      #"printf '\033[1;31mred\033[0m \033[4;48;2;1;2;3mcode\033[0m\r\n日本\033]0;Clinic\007'; read x"#)
    try await terminal.wait(forText: "日本")
    #expect(try await terminal.visibleText().hasPrefix("red code\n日本\n"))
    let cells = terminal.cells
    #expect(cells.count == 6)
    #expect(cells.allSatisfy { $0.count == 40 })
    #expect(cells[0][0].attributes == .bold)
    let red = try #require(cells[0][0].foreground)
    #expect(red.red > 150 && red.green < 100)
    #expect(cells[0][4].background == TerminalColor(red: 1, green: 2, blue: 3))
    #expect(cells[0][4].attributes == .underline)
    #expect(cells[1][0].width == 2)
    #expect(cells[5][0].foreground == nil)
    #expect(terminal.cursor == TerminalPosition(row: 1, column: 4))
    #expect(terminal.title == "Clinic")
    try await terminal.press(.enter)
    #expect(try await terminal.waitForExit() == 0)
  }

  @Test("sends text, keys and the control key")
  func keys() async throws {
    let terminal = try await shell(#"trap 'echo interrupted; exit 7' INT; read name; echo "hello $name"; read x"#)
    try await terminal.type("ann")
    try await terminal.press(.enter)
    try await terminal.wait(forText: "hello ann")
    try await terminal.press(.control("c"))
    #expect(try await terminal.waitForExit() == 7)
    #expect(try await terminal.visibleText().contains("interrupted"))
    let error = try await #require(throws: ScreenError.self) { try await terminal.type("more") }
    #expect(error.kind == .ended)
  }

  @Test("tells the program its size, also when it changes")
  func size() async throws {
    let terminal = try await shell("trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done")
    try await terminal.wait(forText: "6 40")
    try terminal.resize(columns: 50, rows: 10)
    try await terminal.wait(forText: "10 50")
    #expect(terminal.cells.count == 10)
    #expect(throws: ScreenError.self) { try terminal.resize(columns: 0, rows: 1) }
    await terminal.close()
    #expect(terminal.exitStatus == 129)
  }

  @Test("drives a full-screen program")
  func fullScreen() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "terminal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "lines.txt")
    try (1...200).map { "line \($0)\n" }.joined().write(to: file, atomically: true, encoding: .utf8)
    let terminal = try await TerminalScreen(
      "less", arguments: [file.path], columns: 40, rows: 10,
      variables: ["LESS": "", "LESSHISTFILE": "-", "LESSOPEN": ""])
    try await terminal.wait(forText: "line 9\n")
    try await terminal.type("G")
    try await terminal.wait(forText: "line 200")
    try await terminal.type("/line 42\r")
    try await terminal.press(.home)
    try await terminal.type("/line 42\r")
    try await terminal.wait(forText: "line 42\n")
    try await terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
  }

  @Test("draws a picture that needs nothing else")
  func picture() async throws {
    let terminal = try await shell(
      #"printf '\033[7m a<b & "c" \033[0m \033[1;32mok\033[0m \033[3;9mold\033[0m\r\n日本 │ fin'; read x"#)
    try await terminal.wait(forText: "fin")
    let picture = try await terminal.screenshot(quality: .medium)
    let svg = String(decoding: picture.bytes, as: UTF8.self)
    #expect(picture.mediaType == "image/svg+xml")
    #expect(picture.text == (try await terminal.visibleText()))
    #expect(svg.contains(" a&lt;b &amp; &quot;c&quot; </text>"))
    #expect(svg.contains(#"font-weight="bold">ok</text>"#))
    #expect(svg.contains(#"font-style="italic" text-decoration="line-through">old</text>"#))
    #expect(!svg.contains("href"))
    let page = try await ChromiumPage(width: 400, height: 140)
    let data = try #require(URL(string: "data:image/svg+xml;base64," + Data(picture.bytes).base64EncodedString()))
    // Chromium reports an invalid document as an element of its own.
    try await page.open(data)
    #expect(try await page.evaluate("document.querySelector('parsererror') === null", as: Bool.self))
    #expect(try await page.evaluate("document.querySelectorAll('text').length", as: Int.self) > 4)
    if let path = ProcessInfo.processInfo.environment["DIORAMA_KEEP_TERMINAL"] {
      try await Data(page.screenshot(quality: .original).bytes).write(to: URL(filePath: path))
    }
    await page.close()
    await terminal.close()
  }

  @Test("says what the screen shows when a text does not appear")
  func missingText() async throws {
    let terminal = try await shell("echo choose a PIN:; read x")
    try await terminal.wait(forText: "PIN")
    let late = try await #require(throws: ScreenError.self) {
      try await terminal.wait(forText: "welcome", timeout: .milliseconds(50))
    }
    #expect(late.kind == .timedOut)
    #expect(
      late.description
        == "timed out after 0.05 seconds waiting for the text 'welcome'; the screen shows:\n    choose a PIN:")
    try await terminal.press(.enter)
    let ended = try await #require(throws: ScreenError.self) { try await terminal.wait(forText: "welcome") }
    #expect(ended.kind == .ended)
  }

  @Test(
    "passes the environment's variables to the program", .environment(.mock, upstreams: ["api": "https://api.example"]))
  func environment() async throws {
    let terminal = try await shell("echo \"<$DIORAMA_ENDPOINT_API>\"; read x", columns: 80)
    let url = try TestEnvironment.current.endpoint("api").absoluteString
    try await terminal.wait(forText: "<\(url)>")
    await terminal.close()
  }

  @Test("fails clearly when the program does not exist")
  func noProgram() async throws {
    let error = try await #require(throws: ScreenError.self) { _ = try await TerminalScreen("no-such-program") }
    #expect(error.kind == .notStarted)
    #expect(error.description.contains("no-such-program"))
  }
}
