package import Basics
import Cassettes
package import Foundation

/// A response template: Handlebars as WireMock 2.35 renders it with its transformer `response-template`.
///
/// A template is parsed once and can be rendered for many requests, also at the same time.
///
/// ```swift
/// let template = try Template(#"{"id": "{{request.path.[1]}}"}"#, name: "mappings/patient.json: body")
/// let body = try template.render(TemplateContext(request: request, now: clock.now))
/// ```
///
/// As in WireMock, `{{x}}` is escaped for HTML and `{{{x}}}` is not, and lines with only a block tag keep their line break.
package struct Template: Sendable {
  /// What keeps a template from using up memory, time or the stack.
  enum Limit {
    /// Of blocks in blocks, `else` chains and sub-expressions.
    static let depth = 100
    /// Of the output, and of any text that a helper builds, in bytes of UTF-8.
    static let output = 16 << 20
    /// Of all texts that a rendering builds.
    static let work = 8 * output
    /// Of tags, passes through loops, and elements of lists that helpers build.
    static let steps = 1_000_000
    /// Of lists in lists.
    static let valueDepth = 600
  }

  /// The place of the template for errors, such as a file and a member.
  package let name: String
  private let text: String
  private let nodes: [TemplateNode]
  /// The error of the first helper that doesn't exist, such as one of an extension of WireMock. Rendering throws it.
  package let unknownHelper: CodedError?

  /// Parses a template.
  ///
  /// - Parameters:
  ///   - text: the template. A text without `{{` renders as itself.
  ///   - name: the place of the template, which precedes line and column in errors.
  /// - Throws: `CodedError` of kind `broken` for invalid syntax, and for partials and decorators.
  package init(_ text: String, name: String) throws(CodedError) {
    self.name = name
    self.text = text
    guard text.utf8.contains(UInt8(ascii: "{")) else {
      nodes = []
      unknownHelper = nil
      return
    }
    var parser = TemplateParser(text, name: name)
    nodes = try parser.parse()
    unknownHelper = parser.unknownHelper
  }

  /// Whether there is nothing to fill in.
  package var isPlain: Bool { nodes.isEmpty }

  /// Fills in the template.
  ///
  /// The same context, with the same random values, always gives the same text.
  ///
  /// - Throws: ``unknownHelper``, and a `CodedError` of kind `broken` if a helper rejects its parameters or a limit is exceeded. Many helpers write
  ///   `[ERROR: …]` instead, as WireMock's do.
  package func render(_ context: TemplateContext) throws(CodedError) -> String {
    if let unknownHelper { throw unknownHelper }
    guard !nodes.isEmpty else { return text }
    let renderer = TemplateRenderer(context, name: name, text: text)
    try renderer.render(nodes, in: TemplateScope(.map(context.model)))
    return renderer.output
  }
}

/// What a template can refer to.
package struct TemplateContext: Sendable {
  /// The root: `request` and `parameters`, or `originalRequest` and `parameters` in a webhook.
  package var model: TemplateMap
  /// The time for `now`.
  package var now: Date
  /// The time zone of dates that name none.
  package var timeZone: TimeZone
  /// The name that `hostname` writes.
  package var hostname: String
  /// Returns bytes for a random value. All random values are made of these and nothing else.
  package var random: @Sendable (_ use: TemplateRandom, _ count: Int) -> [UInt8]
  /// Evaluates a JSONPath expression; throws if it is invalid.
  package var jsonPath: @Sendable (_ json: JSON, _ path: String) throws(CodedError) -> [JSON]
  /// Evaluates an XPath expression; throws if it is invalid, and returns nil if the text is not XML.
  package var xPath: @Sendable (_ xml: String, _ path: String) throws(CodedError) -> [TemplateElement]?

  /// - Parameters:
  ///   - request: the request to answer.
  ///   - requestName: the request's name in templates: `originalRequest` in webhooks.
  ///   - parameters: the stub's `transformerParameters`.
  ///   - now: the time for `now`.
  ///   - timeZone: the time zone of dates that name none.
  ///   - hostname: the name that `hostname` writes.
  ///   - random: returns bytes for a random value, for a use and a count.
  ///   - jsonPath: evaluates a JSONPath expression; throws if it is invalid.
  ///   - xPath: evaluates an XPath expression; throws if it is invalid, and returns nil if the text is not XML.
  package init(
    request: TemplateRequest, requestName: String = "request", parameters: TemplateValue = .map(TemplateMap([])),
    now: Date, timeZone: TimeZone = .gmt, hostname: String = "localhost",
    random: @escaping @Sendable (TemplateRandom, Int) -> [UInt8],
    jsonPath: @escaping @Sendable (JSON, String) throws(CodedError) -> [JSON],
    xPath: @escaping @Sendable (String, String) throws(CodedError) -> [TemplateElement]?
  ) {
    model = TemplateMap([("parameters", parameters), (requestName, .request(request))])
    self.now = now
    self.timeZone = timeZone
    self.hostname = hostname
    self.random = random
    self.jsonPath = jsonPath
    self.xPath = xPath
  }
}

/// What a random value is for.
package enum TemplateRandom: Sendable, Hashable {
  /// `randomValue` of a type, such as `UUID`.
  case value(type: String)
  /// `randomInt`.
  case integer
  /// `randomDecimal`.
  case decimal
  /// `pickRandom`.
  case pick
}

// MARK: The parsed form

enum TemplateNode: Sendable {
  case text(String)
  case value(TemplateExpression, isEscaped: Bool)
  indirect case block(TemplateBlock)
}

/// `name param … key=param …`.
struct TemplateExpression: Sendable {
  enum Argument: Sendable {
    case literal(TemplateValue)
    case path(TemplatePath)
    indirect case call(TemplateExpression)
  }

  var name: String
  var path: TemplatePath
  /// The helper of that name.
  var helper: TemplateHelper?
  var params: [Argument] = []
  var hash: [(name: String, value: Argument)] = []
  /// The position in the text, in bytes.
  var offset: Int
}

struct TemplateBlock: Sendable {
  var expression: TemplateExpression
  /// Whether the block begins with `^`.
  var isInverse = false
  /// The names between bars: `as |item index|`.
  var names: [String] = []
  var body: [TemplateNode] = []
  var inverse: [TemplateNode] = []
}

/// A path such as `../request.headers.[X-Id]`.
struct TemplatePath: Sendable {
  enum Step: Sendable {
    /// `this`, `.` or `./`.
    case this
    /// `../`, which is followed by the rest, or a final `..`.
    case parent
    case name(String)
    /// A number, and how it is written.
    case index(Int, String)
    /// A name that begins with `@`.
    case data(String)
  }

  let text: String
  let steps: [Step]

  init(_ text: String) {
    self.text = text
    var steps: [Step] = []
    var rest = text[...]
    while rest.hasPrefix("./") || rest.hasPrefix("../") {
      steps.append(rest.hasPrefix("./") ? .this : .parent)
      rest = rest.dropFirst(rest.hasPrefix("./") ? 2 : 3)
    }
    if rest == "." || rest == ".." {
      steps.append(rest == "." ? .this : .parent)
      rest = ""
    }
    var isData = false
    while let first = rest.first {
      if rest.hasPrefix("../") {
        steps.append(.parent)
        rest = rest.dropFirst(3)
      } else if first == "." || first == "/" {
        rest.removeFirst()
      } else {
        var key = rest.prefix { $0 != "." && $0 != "/" }
        rest = rest[key.endIndex...]
        if first == "[", let close = text[key.startIndex...].firstIndex(of: "]") {
          key = text[text.index(after: key.startIndex)..<close]
          rest = text[text.index(after: close)...]
        }
        if key == "this" {
          steps.append(.this)
        } else if key == "@" {
          isData = true
        } else if key.hasPrefix("@") {
          steps.append(.data(String(key.dropFirst())))
        } else if let index = Int(key) {
          steps.append(.index(index, String(key)))
        } else {
          steps.append(isData ? .data(String(key)) : .name(String(key)))
        }
      }
    }
    self.steps = steps
  }

  /// Whether the path is resolved in the current scope only, not in those around it.
  var isLocal: Bool {
    switch steps.first {
    case .this, .parent: true
    default: false
    }
  }
}
