import Foundation
import Testing
import XCTest

/// Which test an environment is for, and what follows from it: its names, its cassette, how to run it again.
struct TestIdentity: Sendable, Equatable {
  /// The module that the test is in.
  var module: String
  /// The suites around it, the outermost first.
  var suites: [String]
  /// The function, with its labels: `books(at:)`; empty outside a test.
  var function: String
  /// The title that a person gave it.
  var title: String?
  /// Which case of a parameterised test, as a file name.
  var caseName: String?
  /// Why the case has no name.
  var caseProblem: DioramaTestingError?
  /// Whether a cassette that the test names is a folder with one for each case.
  var splitsCases = false
  /// The file in which the test stands.
  var file: String
  /// Its line, which tells overloads of one name apart; 0 where that is not known.
  var line = 0

  /// `Booking/books a slot`.
  var name: String {
    guard !function.isEmpty else { return (file as NSString).lastPathComponent }
    return (suites + [title ?? plainFunction]).joined(separator: "/") + (caseName.map { " (\($0))" } ?? "")
  }

  /// What `swift test --filter` takes.
  var filter: String {
    module + "." + (suites + [plainFunction]).joined(separator: "/")
  }

  /// The cassette's absolute path without ending.
  ///
  /// - Parameters:
  ///   - name: as the test gives it: absolute, or relative to the folder of the test's file; nil for the default,
  ///     `Cassettes/<suite>/<test>` beside that file, `Cassettes/<suite>/<test>/<case>` for a case.
  ///   - cassettes: the absolute path of a folder that takes the place of that `Cassettes`.
  /// - Returns: the path.
  /// - Throws: when there is no name to be had, or another test has it.
  func cassette(named name: String?, in cassettes: String? = nil) throws(DioramaTestingError) -> String {
    if let name {
      guard !name.isEmpty else {
        throw DioramaTestingError(.usage, "the cassette's name is empty; give a path such as Cassettes/booking")
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
        .usage, "no test is running here, after which a cassette could be named; give a path with cassette:")
    }
    let suites = suites.isEmpty ? [((file as NSString).lastPathComponent as NSString).deletingPathExtension] : suites
    let path =
      ([cassettes ?? "\(folder)/Cassettes"] + suites.map(FileName.make) + [fileName] + (caseName.map { [$0] } ?? []))
      .joined(separator: "/")
    try CassetteClaims.claim(path, for: self)
    return path
  }

  /// Where relative paths begin: the folder of the test's file.
  var folder: String { (file as NSString).deletingLastPathComponent }

  /// Without parentheses and quotes.
  private var plainFunction: String {
    String(function.prefix { $0 != "(" }.filter { $0 != "`" })
  }

  /// `books(at:_:)` is `books-at`: overloads by label have cassettes of their own.
  private var fileName: String {
    let labels = function.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }.split(separator: ":")
      .filter { $0 != "_" }.map(String.init)
    return FileName.make(([plainFunction] + labels).joined(separator: "-"))
  }
}

extension TestIdentity {
  /// A test of Swift Testing.
  ///
  /// - Parameters:
  ///   - test: the test.
  ///   - testCase: the case.
  ///   - caseName: what it is to be called; nil to make it from the case's arguments.
  init(_ test: Test, case testCase: Test.Case?, named caseName: String? = nil) {
    module = test.id.moduleName
    suites = test.id.nameComponents.dropLast().map { $0.filter { $0 != "`" } }
    function = test.id.nameComponents.last ?? test.name
    title = test.displayName
    file = test.sourceLocation.filePath
    line = test.sourceLocation.line
    self.caseName = caseName.map(FileName.make)
    guard caseName == nil, let testCase else { return }
    do throws(DioramaTestingError) {
      self.caseName = try CaseName.make(testCase)
    } catch {
      caseProblem = error
    }
  }

  /// A test of XCTest.
  init(_ testCase: XCTestCase, file: String) {
    // `Module.Class`; the name is `Class.method` on Linux and `-[Module.Class method]` on Apple's platforms.
    let type = String(reflecting: Swift.type(of: testCase)).split(separator: ".").map(String.init)
    module = type.first ?? ""
    suites = [type.dropFirst().joined(separator: ".")]
    let words = testCase.name.split { ". []".contains($0) }
    function = words.last.map(String.init) ?? testCase.name
    self.file = file
  }

  /// No test at all.
  init(outsideOfTestsIn file: String) {
    self.init(module: "", suites: [], function: "", file: file)
  }
}
