import Basics
import Foundation
import HTTPMessages
import Testing
import XCTest

/// The test that an environment belongs to: its name, its cassette and its filter.
struct TestIdentity: Sendable, Equatable {
  /// The test's module.
  var module: String
  /// The enclosing suites, outermost first.
  var suites: [String]
  /// The function with its labels: `books(at:)`; empty outside a test.
  var function: String
  /// The display name.
  var title: String?
  /// The case of a parameterized test, as a file name.
  var caseName: String?
  /// The reason why the case has no name.
  var caseProblem: DioramaTestingError?
  /// Whether a cassette named by the test is a folder with a cassette for each case.
  var splitsCases = false
  /// The test's file.
  var file: String
  /// The test's line, which distinguishes overloads; 0 if unknown.
  var line = 0
  /// For a scenario, the argument for `swift test --filter`; its `function` is its name.
  var scenarioFilter: String?

  /// `Booking/books a slot`.
  var name: String {
    guard !function.isEmpty else { return (file as NSString).lastPathComponent }
    return (suites + [title ?? plainFunction]).joined(separator: "/") + (caseName.map { " (\($0))" } ?? "")
  }

  /// The argument for `swift test --filter`.
  var filter: String {
    if let scenarioFilter { return scenarioFilter }
    return module + "." + (suites + [plainFunction]).joined(separator: "/")
  }

  /// The cassette's absolute path without extension.
  ///
  /// - Parameters:
  ///   - name: an absolute path, or one relative to the folder of the test's file; nil for the default,
  ///     `Cassettes/<suite>/<test>` beside that file, `Cassettes/<suite>/<test>/<case>` for a case.
  ///   - cassettes: the absolute path of a folder to use instead of that `Cassettes`.
  /// - Returns: the path.
  /// - Throws: ``DioramaTestingError`` without a name, or if another test uses it.
  func cassette(named name: String?, in cassettes: String? = nil) throws(DioramaTestingError) -> String {
    if let name {
      guard !name.isEmpty else {
        throw DioramaTestingError(.usage, "the cassette's name is empty; pass a path such as Cassettes/booking")
      }
      let bare = name.hasSuffix(".har") ? String(name.dropLast(4)) : name
      let path = bare.hasPrefix("/") ? bare : "\(folder)/\(bare)"
      guard splitsCases else { return path }
      if let caseProblem { throw caseProblem }
      return path + (caseName.map { "/\($0)" } ?? "")
    }
    if let caseProblem { throw caseProblem }
    guard !function.isEmpty else {
      throw DioramaTestingError(
        .usage, "cannot name a cassette outside a test; pass a path with cassette:")
    }
    let suites = suites.isEmpty ? [((file as NSString).lastPathComponent as NSString).deletingPathExtension] : suites
    let path =
      ([cassettes ?? "\(folder)/Cassettes"] + suites.map(FileName.make) + [fileName] + (caseName.map { [$0] } ?? []))
      .joined(separator: "/")
    try CassetteClaims.claim(path, for: self)
    return path
  }

  /// The folder of the test's file, which relative paths start from.
  var folder: String { (file as NSString).deletingLastPathComponent }

  /// The function without parentheses and backticks.
  private var plainFunction: String {
    guard scenarioFilter == nil else { return function }
    return String(function.prefix { $0 != "(" }.filter { $0 != "`" })
  }

  /// `books(at:_:)` is `books-at`: overloads with different labels have different cassettes.
  private var fileName: String {
    guard scenarioFilter == nil else { return FileName.make(function) }
    let labels = function.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }.split(separator: ":")
      .filter { $0 != "_" }.map(String.init)
    return FileName.make(([plainFunction] + labels).joined(separator: "-"))
  }
}

extension TestIdentity {
  /// The identity of a Swift Testing test.
  ///
  /// - Parameters:
  ///   - test: the test.
  ///   - testCase: the case.
  ///   - caseName: the case's name; nil to make it from the case's arguments.
  init(_ test: Test, case testCase: Test.Case?, named caseName: String? = nil) {
    module = test.id.moduleName
    suites = test.id.nameComponents.dropLast().map { $0.filter { $0 != "`" } }
    function = test.id.nameComponents.last ?? test.name
    title = test.displayName
    file = test.sourceLocation.filePath
    line = test.sourceLocation.line
    self.caseName = caseName.map(FileName.make)
    guard caseName == nil, let testCase else { return }
    do { self.caseName = try CaseName.make(testCase) } catch {
      caseProblem = error
    }
  }

  /// The identity of an XCTest test.
  init(_ testCase: XCTestCase, file: String) {
    // `Module.Class`; the name is `Class.method` on Linux and `-[Module.Class method]` on Apple platforms.
    let type = String(reflecting: Swift.type(of: testCase)).split(separator: ".").map(String.init)
    module = type.first ?? ""
    suites = [type.dropFirst().joined(separator: ".")]
    let words = testCase.name.split { ". []".contains($0) }
    function = words.last.map(String.init) ?? testCase.name
    self.file = file
  }

  /// The identity of a scenario.
  ///
  /// - Parameters:
  ///   - scenario: the scenario's name.
  ///   - row: the values of its row of examples; empty for any other scenario.
  ///   - suites: the names of the feature and the rule.
  ///   - file: the feature file.
  ///   - line: the scenario's line.
  ///   - module: the test's module.
  ///   - filter: the argument for `swift test --filter`.
  init(
    scenario: String, row: [String], in suites: [String], file: String, line: Int, module: String, filter: String
  ) {
    self.module = module
    self.suites = suites
    // A scenario needs no name.
    function = scenario.isEmpty ? "line \(line)" : scenario
    self.file = file
    self.line = line
    scenarioFilter = filter
    guard !row.isEmpty else { return }
    let parts = row.map(FileName.make).joined(separator: ",")
    // File systems allow 255 bytes.
    caseName = parts.utf8.count <= 200 ? parts : FileName.make(row.joined(separator: ","))
    splitsCases = true
  }

  /// The identity of code outside a test.
  init(outsideOfTestsIn file: String) {
    self.init(module: "", suites: [], function: "", file: file)
  }
}

/// The name of a case of a parameterized test, made from its arguments.
///
/// Swift Testing does not publish a case's arguments. Reflection (`Mirror`) shows each with the encoding that
/// `swift test` uses to identify cases. If the expected structure is missing, this is an error, so that two cases never
/// share a cassette.
enum CaseName {
  /// The case's name; nil for a test without cases.
  ///
  /// - Throws: ``DioramaTestingError`` if the arguments have no stable encoding, or are not visible.
  static func make(_ testCase: Test.Case) throws(DioramaTestingError) -> String? {
    guard testCase.isParameterized else { return nil }
    guard
      let kind = child("_kind", of: testCase), let content = child("parameterized", of: kind),
      let arguments = child("arguments", of: content), let isStable = child("isStable", of: content) as? Bool,
      let discriminator = child("discriminator", of: content) as? Int
    else { throw failure("this version of Swift Testing does not show a case's arguments") }
    guard isStable else { throw failure("its arguments have no stable encoding; make them Codable") }
    var parts: [String] = []
    for argument in Mirror(reflecting: arguments).children {
      guard let id = child("id", of: argument.value), let bytes = child("bytes", of: id) as? [UInt8] else {
        throw failure("this version of Swift Testing does not show a case's arguments")
      }
      parts.append(FileName.make(plain(String(decoding: bytes, as: UTF8.self))))
    }
    guard !parts.isEmpty else { throw failure("it has no arguments") }
    if discriminator != 0 { parts.append("\(discriminator)") }
    return parts.joined(separator: ",")
  }

  /// The text of a JSON string; other JSON unchanged.
  private static func plain(_ json: String) -> String {
    (try? JSONDecoder().decode(String.self, from: Data(json.utf8))) ?? json
  }

  private static func child(_ name: String, of value: Any) -> Any? {
    Mirror(reflecting: value).children.first { $0.label == name }?.value
  }

  private static func failure(_ reason: String) -> DioramaTestingError {
    DioramaTestingError(
      .usage,
      "cannot name a cassette for this case of a parameterized test: \(reason), or provision inside the "
        + "test with a name for the case: TestEnvironment.provision(case: \"…\")")
  }
}

/// Conversion of test names to file names.
enum FileName {
  /// The maximum number of bytes. File systems allow 255, and extensions are added.
  private static let limit = 80

  /// The text with `-` for each character except letters, digits, `.`, `_` and `-`.
  ///
  /// A digest is appended if characters other than spaces are replaced or removed, or the text is shortened, so that
  /// such names never share a file.
  static func make(_ text: String) -> String {
    var name = ""
    var isExact = true
    for character in text {
      if character.isLetter || character.isNumber || "._-".contains(character) {
        name.append(character)
      } else {
        name.append("-")
        isExact = isExact && character == " "
      }
    }
    while name.hasPrefix(".") || name.hasPrefix("-") {
      name.removeFirst()
      isExact = false
    }
    if name.utf8.count > limit {
      while name.utf8.count > limit { name.removeLast() }
      isExact = false
    }
    if isExact, !name.isEmpty { return name }
    return name.isEmpty ? digest(text) : "\(name)-\(digest(text))"
  }

  /// FNV-1a, 32 bits, as eight hexadecimal digits.
  private static func digest(_ text: String) -> String {
    let hash = text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// The tests that use each default cassette path. Overloads that differ only in types have the same name and path.
enum CassetteClaims {
  private static let claims = Guarded<[String: TestIdentity]>([:])

  /// - Throws: ``DioramaTestingError`` if another test of this process uses the path.
  static func claim(_ path: String, for identity: TestIdentity) throws(DioramaTestingError) {
    let owner = claims.withLock { claims in
      let owner = claims[path] ?? identity
      claims[path] = owner
      return owner
    }
    guard owner != identity else { return }
    throw DioramaTestingError(
      .usage,
      "two \(identity.scenarioFilter == nil ? "tests" : "scenarios") would share the cassette \(path): \(owner.name) "
        + "and \(identity.name); rename one, or give one a path with "
        + (identity.scenarioFilter == nil ? "cassette:" : "the tag @cassette:"))
  }
}
