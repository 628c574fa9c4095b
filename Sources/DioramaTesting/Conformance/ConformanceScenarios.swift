import Diorama
import Foundation

extension ConformanceRun {
  /// A few calls in a row, under the title that violations begin with.
  struct Scenario: Sendable {
    let title: String
    let play: @Sendable (inout ConformanceRun) -> Void

    init(_ title: String, _ play: @escaping @Sendable (inout ConformanceRun) -> Void) {
      self.title = title
      self.play = play
    }
  }

  static let scenarios = basics + secrets + identity + lists + [invalidKeys, secrecy] + simultaneous

  private static let (a, b, c) = (Data("first".utf8), Data("a longer one than the first".utf8), Data("3".utf8))

  private static let basics = [
    Scenario("missing credential") { run in
      let (key, other) = (run.key("account"), run.key("other"))
      run.check(.read(key), .update(c, key), .read(key), .delete(key), .read(key), .keys(run.service))
      run.check(.add(a, other), .read(key), .update(b, key), .delete(key), .read(other))
    },
    Scenario("add") { run in
      let key = run.key("account")
      run.check(.add(a, key), .read(key), .read(key), .add(b, key), .read(key), .add(a, key), .keys(run.service))
    },
    Scenario("update") { run in
      let key = run.key("account")
      run.check(.add(a, key), .update(c, key), .read(key), .update(b, key), .read(key), .update(c, key), .read(key))
      run.check(.update(c, key), .read(key), .keys(run.service))
    },
    Scenario("delete") { run in
      let (key, other) = (run.key("account"), run.key("other"))
      run.check(.add(a, key), .add(c, other), .delete(key), .read(key), .delete(key), .update(b, key))
      run.check(.keys(run.service), .add(c, key), .read(key), .read(other))
    },
    Scenario("set") { run in
      let key = run.key("account")
      run.check(.set(a, key), .read(key), .set(b, key), .read(key), .keys(run.service), .add(c, key), .delete(key))
      run.check(.read(key), .set(Data(), key), .read(key))
    },
  ]

  /// Bytes that a store can corrupt: by storing text, by trimming, by a size limit.
  private static let samples: [(String, Data)] = [
    ("empty", Data()), ("one zero byte", Data([0])), ("zero bytes inside", Data("a\0b\0".utf8)),
    ("every byte", Data(0...255)), ("invalid UTF-8", Data([0xFF, 0xFE, 0xC3, 0x28])),
    ("truncated é", Data([0x61, 0xC3])), ("line ends", Data("\na\r\nb\n\n".utf8)), ("blanks", Data("  \t ".utf8)),
    ("other scripts", Data("пароль 🙂 é".utf8)), ("byte order mark", Data([0xEF, 0xBB, 0xBF, 0x61])),
    ("Base64", Data("aGVsbG8=".utf8)), ("JSON", Data(#"{"token":"\u0000","a":[1.0]}"#.utf8)),
    ("shell syntax", Data(#"$(x) `y` "z" 'ä' \n %s"#.utf8)),
    ("4,096 bytes", Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31) })),
    ("65,536 bytes", Data((0..<65_536).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 3) })),
  ]

  private static let secrets = samples.map { name, secret in
    Scenario("secret, \(name)") { run in
      let key = run.key("account")
      run.check(.add(secret, key), .read(key), .add(c, key), .read(key), .keys(run.service), .update(a, key))
      run.check(.update(secret, key), .read(key), .set(a, key), .set(secret, key), .read(key), .delete(key), .read(key))
      run.check(.set(secret, key), .read(key))
    }
  }

  private static let identity = [
    Scenario("keys that differ in the service") { run in
      let suffixes = ["", "x", ".", "/", " ", "*", "%", "\u{E9}", "e\u{301}"]
      run.distinguish(suffixes.map { CredentialKey(service: run.service + $0, account: "account") })
    },
    Scenario("keys that differ in the account") { run in
      let accounts = [
        "", "account", "Account", "ACCOUNT", "account ", " account", "acc", "account2", "*", "%", "_", "\u{E9}",
        "e\u{301}", "a/b", "a\\b", "a\nb", "a\tb", "'", "\"", "🙂", "\u{FEFF}account",
      ]
      run.distinguish(accounts.map { run.key($0) })
    },
    Scenario("keys with the same joined text") { run in
      let parts = [
        ("a", "bc"), ("ab", "c"), ("/a", "b"), ("", "a/b"), (":a", "b"), ("", "a:b"), ("", ""), ("a", ""), ("", "a"),
      ]
      run.distinguish(parts.map { CredentialKey(service: run.service + $0.0, account: $0.1) })
    },
    Scenario("keys that differ in the group") { run in
      run.distinguish(([nil] + run.groups).map { run.key("account", group: $0) })
      guard let group = run.groups.first else { return }
      run.distinguish([run.key(group), run.key("name", group: group), run.key(group, group: group)])
    },
    Scenario("item in a group, requested without the group") { run in
      guard let group = run.groups.first else { return }
      let (shared, own) = (run.key("account", group: group), run.key("account"))
      run.check(.add(a, shared), .read(own), .update(c, own), .delete(own), .read(shared), .keys(run.service))
      run.check(.add(b, own), .read(shared), .delete(shared), .read(own))
    },
  ]

  /// Checks that calls for one key leave the secrets of the others alone.
  private mutating func distinguish(_ keys: [CredentialKey]) {
    func secret(_ index: Int, _ round: String) -> Data { Data("\(round) secret \(index)".utf8) }
    for (index, key) in keys.enumerated() { check(.add(secret(index, "first"), key)) }
    for key in keys { check(.read(key)) }
    for service in [nil] + Set(keys.map(\.service)).sorted() { check(.keys(service)) }
    for (index, key) in keys.enumerated().reversed() { check(.update(secret(index, "second"), key)) }
    for key in keys { check(.read(key)) }
    for (index, key) in keys.enumerated() where index.isMultiple(of: 2) { check(.delete(key)) }
    for key in keys { check(.read(key)) }
    for (index, key) in keys.enumerated() { check(.set(secret(index, "third"), key)) }
    for key in keys { check(.read(key)) }
    check(.keys(nil))
  }

  private static let lists = [
    Scenario("list") { run in
      let accounts = ["b", "a", "c", "B", "", "aa", "\u{E9}", "z", "🙂", "\u{FFFD}", "10", "9"]
      for account in accounts { run.check(.add(a, run.key(account)), .keys(run.service)) }
      for account in accounts.sorted() {
        run.check(.update(b, run.key(account)), .keys(run.service), .delete(run.key(account)), .keys(run.service))
      }
      for number in 0..<40 { run.check(.add(Data("\(number)".utf8), run.key("account \(number * 7 % 40)"))) }
      run.check(.keys(run.service), .keys(run.service))
    },
    Scenario("list of one service of several") { run in
      let services = ["", "-b", "-a", "-a-b"].map { run.service + $0 }
      for (index, service) in services.enumerated() {
        for account in ["two", "one", "three"].prefix(index) {
          run.check(.add(a, CredentialKey(service: service, account: account)))
        }
      }
      for service in [nil] + services + ["-A", "-", "%"].map({ run.service + $0 }) { run.check(.keys(service)) }
    },
    Scenario("list with groups") { run in
      for account in ["b", "a"] {
        for group in run.groups.reversed() + [nil] { run.check(.add(a, run.key(account, group: group))) }
      }
      run.check(.keys(run.service), .keys(nil))
    },
  ]

  private static let invalidKeys = Scenario("invalid key") { run in
    // A store that truncates text at U+0000 would use this key.
    run.touch(run.key("a"), holding: nil)
    for key in [
      run.key("a\0b"), CredentialKey(service: run.service + "\0", account: "a"), run.key("a", group: ""),
      run.key("a", group: "g\0"),
    ] {
      run.check(.add(a, key), .set(a, key), .update(a, key), .read(key), .delete(key))
    }
    run.check(.keys(run.service), .add(a, run.key("a")), .keys(run.service + "\0"))
  }

  private static let secrecy = Scenario("printed store") { run in
    let text = "secret-\(UUID().uuidString)"
    let (key, secret) = (run.key("account"), Data(text.utf8))
    run.check(.add(secret, key), .read(key), .set(secret, key), .add(secret, key))
    let forms = [text, secret.base64EncodedString()]
    var dumped = ""
    dump(run.store, to: &dumped)
    for (name, output) in [
      ("String(describing:)", String(describing: run.store)), ("String(reflecting:)", String(reflecting: run.store)),
      ("dump(_:)", dumped),
    ] where forms.contains(where: output.contains) {
      run.note(name, "no secret", "the secret")
    }
    var search = MirrorSearch(wanted: forms.map { Data($0.utf8) })
    if search.finds(run.store) { run.note("Mirror(reflecting:)", "no secret", "the secret") }
  }

  private static let threads = 8

  private static let simultaneous = [
    Scenario("simultaneous adds") { run in
      for round in 0..<10 {
        let key = run.key("account \(round)")
        let winners = run.race(else: .duplicate) { .add(Data("secret \($0)".utf8), key) }
        // The winner's secret must remain.
        let secret = winners.count == 1 ? Data("secret \(winners[0])".utf8) : try? run.store.read(key)
        run.touch(key, holding: secret)
        run.check(.read(key))
      }
      run.check(.keys(run.service))
    },
    Scenario("simultaneous deletes") { run in
      for round in 0..<10 {
        let key = run.key("account \(round)")
        run.check(.add(c, key))
        run.race(else: .notFound) { _ in .delete(key) }
        run.touch(key, holding: try? run.store.read(key))
      }
      run.check(.keys(run.service))
    },
    Scenario("simultaneous updates and deletes") { run in
      for round in 0..<20 {
        let key = run.key("account \(round)")
        run.check(.add(c, key))
        let winners = simultaneously(threads) { [store = run.store] index in
          (index.isMultiple(of: 2) ? CredentialOperation.update(b, key) : .delete(key)).perform(on: store)
        }.enumerated().filter { !$0.offset.isMultiple(of: 2) && $0.element.agrees(with: .done) }
        if winners.count != 1 { run.note("delete \(key) in some threads", "one success", "\(winners.count)") }
        // An update must not restore a deleted credential.
        run.touch(key, holding: nil)
        run.check(.read(key))
      }
    },
  ]

  /// Makes a call in several threads at once; exactly one must succeed.
  ///
  /// - Returns: the numbers of the threads whose call succeeded.
  @discardableResult
  private mutating func race(
    else kind: CredentialError.Kind, _ operation: @escaping @Sendable (Int) -> CredentialOperation
  ) -> [Int] {
    let outcomes = simultaneously(Self.threads) { [store] in operation($0).perform(on: store) }
    let winners = outcomes.indices.filter { outcomes[$0].agrees(with: .done) }
    let losers = outcomes.filter { $0.agrees(with: .refused(CredentialError(kind, for: nil))) }
    if winners.count != 1 || losers.count != Self.threads - 1 {
      note(
        "\(operation(0)) in \(Self.threads) threads", "one success and \(Self.threads - 1) times \(kind)",
        "\(winners.count) successes and \(losers.count) times \(kind)")
    }
    return winners
  }
}

/// Searches everything that reflection shows of a value.
private struct MirrorSearch {
  let wanted: [Data]
  private var seen: Set<ObjectIdentifier> = []

  init(wanted: [Data]) { self.wanted = wanted }

  mutating func finds(_ value: Any, depth: Int = 0) -> Bool {
    guard depth < 16 else { return false }
    let bytes: Data? =
      switch value {
      case let text as String: Data(text.utf8)
      case let data as Data: data
      case let bytes as [UInt8]: Data(bytes)
      default: nil
      }
    if let bytes { return wanted.contains { bytes.range(of: $0) != nil } }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .class, !seen.insert(ObjectIdentifier(value as AnyObject)).inserted { return false }
    var level: Mirror? = mirror
    while let current = level {
      for child in current.children where finds(child.value, depth: depth + 1) { return true }
      level = current.superclassMirror
    }
    return false
  }
}

/// Runs `body` with 0, 1, … in as many threads, all started together.
package func simultaneously<Value: Sendable>(
  _ count: Int, _ body: @escaping @Sendable (Int) -> Value
) -> [Value] {
  let race = Race<Value>()
  for index in 0..<count {
    let thread = Thread {
      race.waitForStart(of: count)
      race.finish(index, body(index))
    }
    // Some stores use C libraries that need more than the half megabyte of a macOS thread.
    thread.stackSize = 4 << 20
    thread.start()
  }
  return race.values(count)
}

private final class Race<Value: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var ready = 0
  private var values: [Int: Value] = [:]

  func waitForStart(of count: Int) {
    condition.withLock {
      ready += 1
      condition.broadcast()
      while ready < count { condition.wait() }
    }
  }

  func finish(_ index: Int, _ value: Value) {
    condition.withLock {
      values[index] = value
      condition.broadcast()
    }
  }

  func values(_ count: Int) -> [Value] {
    condition.withLock {
      while values.count < count { condition.wait() }
      return values.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}
