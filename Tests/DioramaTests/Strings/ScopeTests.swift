import Diorama
import LaunchContract
import Testing

@Suite("Scopes of random values")
struct ScopeTests {
  /// The key that a value had in the store.
  private func key(_ use: (RandomStrings) throws -> some Any) throws -> String {
    try withControlServer { server in
      _ = try use(try fixture(.init(policy: .report), control: server.control).strings)
      let uses = try server.uses()
      try #require(uses.count == 1)
      return uses[0].key
    }
  }

  @Test("put their names before the key")
  func names() throws {
    #expect(try key { try $0.scope("import-3").string("email", length: 12) } == "import-3▸email")
    #expect(try key { try $0.scope("import-3").scope("row 1").uuid("id") } == "import-3▸row 1▸id")
    #expect(try key { try $0.scope("import-3").generator("noise") } == "import-3▸noise")
  }

  @Test("count the uses of their keys each for itself")
  func ordinals() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    let derivation = StringDerivation(seed: "recording-2018")
    let first = strings.scope("a")
    _ = try strings.uuid("id")
    _ = try strings.scope("b").uuid("id")
    #expect(try first.uuid("id") == derivation.uuid(key: "a▸id", ordinal: 0))
    // The same scope made again is the same scope.
    #expect(try strings.scope("a").uuid("id") == derivation.uuid(key: "a▸id", ordinal: 1))
    #expect(try strings.uuid("id") == derivation.uuid(key: "id", ordinal: 1))
  }

  @Test("never share a key, whatever their names and keys hold")
  func distinct() throws {
    let parts = ["a", "▸", "\\", "a▸", "▸a", "a\\", "\\a", "\\▸", "▸▸", "▹", "👁"]
    var keys: [String] = []
    for first in parts {
      for second in parts {
        keys.append(try key { try $0.scope(first).uuid(second) })
        for third in parts { keys.append(try key { try $0.scope(first).scope(second).uuid(third) }) }
      }
    }
    #expect(Set(keys).count == keys.count)
  }

  @Test("leave a key outside of them as it is")
  func plain() throws {
    #expect(try key { try $0.uuid("a▸b\\") } == "a▸b\\")
    #expect(try key { try $0.scope("s").uuid("a▸b\\") } == "s▸a\\▸b\\\\")
  }

  @Test("refuse what cannot be a key, with the first value", arguments: [("", "k"), ("a\nb", "k"), ("s", "")])
  func refused(scope: String, key: String) throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      for scope in [strings.scope(scope), strings.scope(scope).scope("inner")] {
        let error = #expect(throws: DioramaError.self) { try scope.uuid(key) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.description.contains("\n") == false)
      }
    }
  }
}
