import Basics
import DioramaScenarios

extension ChromiumPage {
  /// How an element of the page is found.
  public enum Element: Sendable, Equatable, CustomStringConvertible {
    /// The first visible element that matches a CSS selector.
    case css(String)
    /// The innermost visible element with a text, or with such a label, placeholder or value. An element that
    /// equals the text takes precedence over one that contains it.
    case text(String)
    /// An element by its accessible role and name, as a screen reader finds it: `.role("button", "Log in")`.
    case role(String, String)

    /// The element in words, for messages.
    public var description: String {
      switch self {
      case .css(let selector): "element '\(selector)'"
      case .text(let text): "element with the text '\(text)'"
      case .role(let role, let name): "\(role) '\(name)'"
      }
    }
  }

  /// A key that has no character.
  public enum Key: String, Sendable, CaseIterable {
    case enter = "Enter"
    case tab = "Tab"
    case escape = "Escape"
    case backspace = "Backspace"
    case delete = "Delete"
    case up = "ArrowUp"
    case down = "ArrowDown"
    case left = "ArrowLeft"
    case right = "ArrowRight"
    case home = "Home"
    case end = "End"
    case pageUp = "PageUp"
    case pageDown = "PageDown"

    /// The code of Windows, which pages know as `keyCode`.
    fileprivate var code: Int {
      switch self {
      case .enter: 13
      case .tab: 9
      case .escape: 27
      case .backspace: 8
      case .delete: 46
      case .up: 38
      case .down: 40
      case .left: 37
      case .right: 39
      case .home: 36
      case .end: 35
      case .pageUp: 33
      case .pageDown: 34
      }
    }
  }

  /// An element as assistive technology sees it.
  public struct AccessibleElement: Sendable, Equatable {
    /// The role, such as `button`.
    public var role: String
    /// The name, such as `Log in`; empty for an element without one.
    public var name: String
  }

  /// Whether there is such a visible element now.
  ///
  /// - Parameter element: the element.
  /// - Returns: whether it was found.
  /// - Throws: ``ScreenError`` if the selector is invalid or the page has ended.
  public func has(_ element: Element) async throws -> Bool { try await object(element) != nil }

  /// Waits for an element.
  ///
  /// - Parameters:
  ///   - element: the element.
  ///   - timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` with what is visible at the time limit.
  public func wait(for element: Element, timeout: Duration? = nil) async throws {
    try await waitForObject(element, timeout)
  }

  /// Waits for an element, scrolls to it, and clicks its middle.
  ///
  /// - Parameters:
  ///   - element: the element.
  ///   - timeout: the time limit for the element; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` if there is no such element, or another one covers it.
  public func click(_ element: Element, timeout: Duration? = nil) async throws {
    let object = try await waitForObject(element, timeout)
    try await command("DOM.scrollIntoViewIfNeeded", ["objectId": object])
    let quads = try await command("DOM.getContentQuads", ["objectId": object])["quads"]?.array ?? []
    guard let corners = quads.first?.array?.compactMap(\.double), corners.count == 8 else {
      throw ScreenError(.notFound, "the \(element) has no area to click")
    }
    let x = (corners[0] + corners[2] + corners[4] + corners[6]) / 4
    let y = (corners[1] + corners[3] + corners[5] + corners[7]) / 4
    let cover = try await call(PageScript.cover, on: object, [.double(x), .double(y)])
    if let cover = cover.string {
      throw ScreenError(.notFound, "the \(element) cannot be clicked: \(cover) covers it; close that first")
    }
    for (type, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
      try await command(
        "Input.dispatchMouseEvent",
        [
          "type": .string(type), "x": .double(x), "y": .double(y), "clickCount": .int(type == "mouseMoved" ? 0 : 1),
          "button": .string(type == "mouseMoved" ? "none" : "left"), "buttons": .int(buttons),
        ])
    }
  }

  /// Waits for a field, and replaces its content with a text.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - element: the field.
  ///   - timeout: the time limit for the field; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` if there is no such field.
  public func type(_ text: String, into element: Element, timeout: Duration? = nil) async throws {
    let object = try await waitForObject(element, timeout)
    do { try await command("DOM.focus", ["objectId": object]) } catch let error as ScreenError {
      guard error.kind == .script else { throw error }
      throw ScreenError(.notFound, "the \(element) takes no text: it cannot have the focus")
    }
    _ = try await call("function() { if (this.select) this.select(); }", on: object, [])
    if text.isEmpty { try await press(.delete) } else { try await type(text) }
  }

  /// Types a text into the focused element.
  ///
  /// - Parameter text: the text.
  /// - Throws: ``ScreenError``.
  public func type(_ text: String) async throws { try await command("Input.insertText", ["text": .string(text)]) }

  /// Presses and releases a key in the focused element.
  ///
  /// - Parameter key: the key.
  /// - Throws: ``ScreenError``.
  public func press(_ key: Key) async throws {
    var parameters: [String: JSON] = [
      "key": .string(key.rawValue), "code": .string(key.rawValue), "windowsVirtualKeyCode": .int(key.code),
    ]
    // Only a key with a text submits a form.
    if key == .enter { parameters["text"] = .string("\r") }
    for type in [key == .enter ? "keyDown" : "rawKeyDown", "keyUp"] {
      parameters["type"] = .string(type)
      try await command("Input.dispatchKeyEvent", parameters)
    }
  }

  /// The page as assistive technology sees it, in its order: elements with a role, except those that only structure the page.
  ///
  /// - Returns: the elements.
  /// - Throws: ``ScreenError``.
  public func accessibleElements() async throws -> [AccessibleElement] {
    let nodes = try await command("Accessibility.getFullAXTree")["nodes"]?.array ?? []
    let structure: Set = ["none", "generic", "InlineTextBox", "RootWebArea", "StaticText", "LineBreak"]
    return nodes.compactMap { node in
      guard node["ignored"]?.bool != true, let role = node["role"]?["value"]?.string, !structure.contains(role) else {
        return nil
      }
      return AccessibleElement(role: role, name: node["name"]?["value"]?.string ?? "")
    }
  }

  @discardableResult
  private func waitForObject(_ element: Element, _ timeout: Duration?) async throws -> JSON {
    do {
      return try await eventually("the \(element)", on: self, timeout: timeout) { try await object(element) }
    } catch let error as ScreenError where error.kind == .timedOut {
      throw ScreenError(.notFound, error.description + (await advice(element)))
    }
  }

  /// What else has the role, for an element that was not found.
  private func advice(_ element: Element) async -> String {
    guard case .role(let role, let name) = element, let all = try? await accessibleElements() else { return "" }
    let names = all.filter { $0.role == role && !$0.name.isEmpty }.map(\.name)
    guard !names.isEmpty else { return "\n  there is no \(role) with a name" }
    let near = EditDistance.nearest(to: name, among: Set(names)).map { "'\($0)'" }
    return "\n  the nearest of \(names.count) with the role \(role): \(near.joined(separator: ", "))"
  }

  /// The remote object of an element; nil without a match.
  private func object(_ element: Element) async throws -> JSON? {
    switch element {
    case .css(let selector): return try await evaluate(PageScript.element(css: selector), byValue: false)["objectId"]
    case .text(let text): return try await evaluate(PageScript.element(text: text), byValue: false)["objectId"]
    case .role(let role, let name):
      let document = try await evaluate("document", byValue: false)["objectId"] ?? .null
      let answer = try await command(
        "Accessibility.queryAXTree",
        ["objectId": document, "role": .string(role), "accessibleName": .string(name)])
      let node = answer["nodes"]?.array?.first { $0["ignored"]?.bool != true }
      guard let id = node?["backendDOMNodeId"] else { return nil }
      return try await command("DOM.resolveNode", ["backendNodeId": id])["object"]?["objectId"]
    }
  }

  private func call(_ function: String, on object: JSON, _ arguments: [JSON]) async throws -> JSON {
    let answer = try await command(
      "Runtime.callFunctionOn",
      [
        "functionDeclaration": .string(function), "objectId": object, "returnByValue": .bool(true),
        "arguments": .array(arguments.map { .object(["value": $0]) }),
      ])
    if let details = answer["exceptionDetails"] { throw Self.failure(details) }
    return answer["result"]?["value"] ?? .null
  }
}
