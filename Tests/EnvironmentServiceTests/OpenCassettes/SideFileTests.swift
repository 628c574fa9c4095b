import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A body in a file beside an untrusted cassette")
struct SideFileTests {
  /// What a cassette must not reveal.
  private static let secret = "canary 5f0c"
  /// A SHA-1, as in Playwright's file names.
  private static let digest = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"

  /// A cassette whose only response is in `file`, beside a folder with the secret that `prepare` may link to.
  private static func withCassette(
    _ file: String, _ prepare: (_ folder: String, _ canary: String) throws -> Void,
    _ body: (ServiceFixture) async throws -> Void
  ) async throws {
    try await withService { fixture in
      let inner = ServiceFixture(service: fixture.service, folder: fixture.folder + "/tests")
      try FileManager.default.createDirectory(atPath: inner.folder, withIntermediateDirectories: false)
      try FileManager.default.createDirectory(atPath: fixture.folder + "/outside", withIntermediateDirectories: false)
      try fixture.write(secret, to: "outside/canary")
      try prepare(inner.folder, fixture.folder + "/outside/canary")
      try inner.writeCassette(url: "http://a.test/a", file: file)
      try await body(inner)
    }
  }

  private static func makeBodies(_ folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder + "/c.bodies", withIntermediateDirectories: false)
  }

  /// How a cassette may try to read another file.
  enum Attack: String, CaseIterable {
    case link, chain, folderLink, neighbour, dotFile, deeper, joined, otherFolder, shaLink, pipe, folder, missing

    var file: String {
      switch self {
      case .neighbour: "secret.txt"
      case .dotFile: ".env"
      case .deeper: "c.bodies/deep/canary"
      // Swift sees the slash and the mark before it as one character; the system still sees a slash.
      case .joined: "c.bodies/deep\u{600}/canary"
      case .otherFolder: "d.bodies/canary"
      case .shaLink: SideFileTests.digest + ".txt"
      default: "c.bodies/canary"
      }
    }

    func prepare(_ folder: String, _ canary: String) throws {
      let files = FileManager.default
      func link(_ name: String, to target: String) throws {
        try files.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
      }
      switch self {
      case .link, .chain:
        try SideFileTests.makeBodies(folder)
        try link("c.bodies/canary", to: self == .chain ? "again" : canary)
        if self == .chain { try link("c.bodies/again", to: canary) }
      case .folderLink: try link("c.bodies", to: (canary as NSString).deletingLastPathComponent)
      case .neighbour, .dotFile: try files.copyItem(atPath: canary, toPath: "\(folder)/\(file)")
      case .deeper:
        try SideFileTests.makeBodies(folder)
        try link("c.bodies/deep", to: (canary as NSString).deletingLastPathComponent)
      case .joined:
        try SideFileTests.makeBodies(folder)
        try link("c.bodies/deep\u{600}", to: (canary as NSString).deletingLastPathComponent)
      case .otherFolder:
        try files.createDirectory(atPath: folder + "/d.bodies", withIntermediateDirectories: false)
        try files.copyItem(atPath: canary, toPath: "\(folder)/\(file)")
      case .shaLink: try link(file, to: canary)
      case .pipe:
        try SideFileTests.makeBodies(folder)
        try #require(mkfifo("\(folder)/\(file)", 0o600) == 0)
      case .folder:
        try files.createDirectory(atPath: "\(folder)/\(file)", withIntermediateDirectories: true)
      case .missing: try SideFileTests.makeBodies(folder)
      }
    }
  }

  @Test("is refused if it is a link, elsewhere, or not a regular file", arguments: Attack.allCases)
  func refused(attack: Attack) async throws {
    try await Self.withCassette(attack.file, attack.prepare) { fixture in
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.kind == .broken)
      let message = error?.message ?? ""
      #expect(message.contains(attack.file) && message.contains("c.har"), "\(message)")
      // Neither its contents nor its size.
      #expect(!message.contains("canary 5f0c") && !message.contains("\(Self.secret.utf8.count) bytes"), "\(message)")
      #expect(throws: CodedError.self) { try CassetteVerifier.verify(fixture.location()) }
      let stored = try CassetteReader.read(fixture.location())
      let body = stored.cassette.interactions[0].response.body
      #expect(throws: CodedError.self) { try CassetteReader.bytes(of: body, in: fixture.location()) }
    }
  }

  @Test("is served from the cassette's own folder, even by a hard link, and with Playwright's names")
  func served() async throws {
    for file in ["c.bodies/a.txt", "c.bodies/.hidden", Self.digest + ".txt"] {
      let prepare = { (folder: String, canary: String) in
        try Self.makeBodies(folder)
        try #require(link(canary, "\(folder)/\(file)") == 0)
      }
      try await Self.withCassette(file, prepare) { fixture in
        let report = try await fixture.run(.replay) { environment async throws in
          #expect(try await environment.get("/a").text == Self.secret)
        }
        #expect(report.ok)
        #expect(try CassetteVerifier.verify(fixture.location()).interactions == 1)
      }
    }
  }

  @Test("is served by a cassette that is itself a link, from the link's folder")
  func linkedCassette() async throws {
    let prepare = { (folder: String, canary: String) in
      try Self.makeBodies(folder)
      try #require(link(canary, "\(folder)/c.bodies/a.txt") == 0)
    }
    try await Self.withCassette("c.bodies/a.txt", prepare) { fixture in
      try #require(rename("\(fixture.folder)/c.har", "\(fixture.folder)/other.har") == 0)
      try #require(symlink("other.har", "\(fixture.folder)/c.har") == 0)
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/a").text == Self.secret)
      }
    }
  }

  @Test("is refused if a link replaces it while the cassette is being replayed")
  func replaced() async throws {
    let prepare = { (folder: String, _: String) in
      try Self.makeBodies(folder)
      // As long as the secret, and too long to be kept in memory after it was served.
      try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: folder + "/c.bodies/a.txt"))
    }
    try await Self.withCassette("c.bodies/a.txt", prepare) { fixture in
      let environment = try fixture.provision(.replay)
      try #require(unlink("\(fixture.folder)/c.bodies/a.txt") == 0)
      try #require(symlink("../../outside/canary", "\(fixture.folder)/c.bodies/a.txt") == 0)
      let answer = try await environment.get("/a")
      #expect(answer.status == 500 && !answer.text.contains(Self.secret))
      _ = await environment.end()
    }
  }

  @Test("is not a string store behind a link, unless the HAR is a link too")
  func strings() async throws {
    try await withService { fixture in
      try fixture.writeCassette(url: "http://a.test/a", text: "a")
      try fixture.write(#"{"format":1,"algorithm":"uuid5-v1","seed":"s","strings":{}}"#, to: "other.json")
      try #require(symlink("other.json", "\(fixture.folder)/c.strings.json") == 0)
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.message.contains("it is a symbolic link") == true)
      try #require(rename("\(fixture.folder)/c.har", "\(fixture.folder)/other.har") == 0)
      try #require(symlink("other.har", "\(fixture.folder)/c.har") == 0)
      #expect(try CassetteReader.read(fixture.location()).strings.seed == "s")
    }
  }

  /// Files that could be a link when something is recorded.
  enum Written: String, CaseIterable {
    case bodies = "c.bodies"
    case partial = "c.har.partial"
    case newHAR = "c.har.new"
    case newStrings = "c.strings.json.new"
    case before = "c.strings.json.before"
  }

  @Test("is not written or removed through a link, nor is any other file", arguments: Written.allCases)
  func written(place: Written) async throws {
    let upstream = try TestUpstream { _ in
      Response(status: 200, headers: ["Content-Type": "image/png"], body: .bytes([UInt8](repeating: 7, count: 400_000)))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let files = FileManager.default
      let outside = fixture.folder + "/outside"
      // Names like those of our own unused bodies.
      let names = [String(repeating: "0", count: 64) + ".bin", ".incoming-1-1", "canary"]
      try files.createDirectory(atPath: outside, withIntermediateDirectories: false)
      for name in names { try fixture.write(Self.secret, to: "outside/\(name)") }
      if place == .bodies {
        try files.moveItem(atPath: fixture.folder + "/c.bodies", toPath: fixture.folder + "/moved")
      }
      try files.createSymbolicLink(
        atPath: "\(fixture.folder)/\(place.rawValue)",
        withDestinationPath: place == .bodies ? outside : outside + "/canary")
      for mode in [Mode.extend, .record] {
        guard let environment = try? fixture.provision(mode, ["api": upstream.origin]) else { continue }
        _ = try? await environment.get("/b")
        _ = await environment.end()
      }
      _ = try? CassetteRecovery.recover(fixture.location())
      _ = try? CassettePruner.remove([0], from: fixture.location())
      #expect(try files.contentsOfDirectory(atPath: outside).sorted() == names.sorted())
      for name in names { #expect(try fixture.read("outside/\(name)") == Self.secret) }
    }
  }
}
