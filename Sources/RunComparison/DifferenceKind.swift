import Basics

/// What a value that differs from run to run looks like.
package enum DifferenceKind: String, Sendable, CaseIterable, Encodable {
  case instant, uuid, counter, hashOrder, race, random, temporaryPath, port, process, duration, address
  /// Something happened in one run only: a request, a line, a string.
  case extra
  /// Nothing that is known.
  case unknown

  /// What it looks like, to follow `looks like`; nil for nothing.
  package var look: String? {
    switch self {
    case .instant: "a time of the system's clock"
    case .uuid: "a random UUID"
    case .counter: "a counter that continues from run to run"
    case .hashOrder: "the order of a set or dictionary"
    case .race: "a race of threads, tasks or processes"
    case .random: "a random value"
    case .temporaryPath: "the path of a temporary file or folder"
    case .port: "a port that the system chose"
    case .process: "a process ID"
    case .duration: "a duration"
    case .address: "an address in memory"
    case .extra, .unknown: nil
    }
  }

  /// What runs are started with.
  package enum Interface: Sendable {
    /// `diorama verify`, with these settings.
    case command(Settings)
    /// The trait `.verified` of a Swift test.
    case test

    fileprivate var isTest: Bool { if case .test = self { true } else { false } }
  }

  /// What `diorama verify` has isolated its runs with.
  package struct Settings: Sendable {
    /// The kind of isolation that was used, such as `proxy`; nil for none.
    package var isolation: String?
    /// The kind of the environment's clock.
    package var clock: String
    /// Whether random values depend on the seed.
    package var isRandom: Bool

    /// - Parameters:
    ///   - isolation: the kind of isolation that was used; nil for none.
    ///   - clock: the kind of the environment's clock.
    ///   - isRandom: whether random values depend on the seed.
    package init(isolation: String? = nil, clock: String = "frozen", isRandom: Bool = false) {
      self.isolation = isolation
      self.clock = clock
      self.isRandom = isRandom
    }

    /// Whether the programs have the environment's clock and seed, which a proxy cannot give them.
    fileprivate var isEffective: Bool { isolation != nil && isolation != "proxy" }
    fileprivate var isClockFrozen: Bool { ["frozen", "manual"].contains(clock) }
  }

  /// Where a difference is, as far as it matters for what to do about it.
  enum Place: Sendable, Equatable {
    /// In a part of a request that is compared with the cassette; with the content of `diorama.json` that ignores it.
    case matched(rule: String)
    case header(String)
    case output
    case other
  }

  /// What to do about it, most likely fix first.
  ///
  /// - Parameters:
  ///   - place: where it is.
  ///   - interface: what the runs were started with.
  /// - Returns: sentences without a full stop.
  func levers(at place: Place, in interface: Interface = .command(.init())) -> [String] {
    guard let first = fixes(in: interface) else {
      return place.exceptions(in: interface).map { "if it does not matter, \($0)" }
    }
    return first + place.exceptions(in: interface).map { "or \($0)" }
  }

  /// What to do, most likely fix first; nil if that is not known.
  private func fixes(in interface: Interface) -> [String]? {
    guard var fixes = fixesOfProgram(in: interface) else { return nil }
    if case .command(let settings) = interface, let option = option(beyond: settings) {
      fixes.append("or, without a change to the program, \(option)")
    }
    return fixes
  }

  /// The options of `diorama run` that make such values equal in each run; nil for kinds that no option affects, and if
  /// the runs had them already.
  private func option(beyond settings: Settings) -> String? {
    let isProxy = settings.isolation == "proxy"
    let isolate = isProxy ? "--isolate=namespaces or --isolate=seccomp" : "--isolate"
    switch self {
    case .instant:
      guard settings.isEffective else {
        let clock = settings.isClockFrozen ? "" : ", with --clock frozen"
        return "give it the environment's clock\(isProxy ? ", which a proxy cannot" : ""): \(isolate)\(clock)"
      }
      return settings.isClockFrozen ? nil : "freeze its clock: --clock frozen"
    case .uuid, .random, .hashOrder, .address:
      if settings.isEffective, settings.isRandom { return nil }
      let options = settings.isEffective ? "--random" : isProxy ? "--random, and \(isolate)" : "--isolate --random"
      let effect =
        self == .address
        ? ", which turns address randomization off" : ": --seed decides the values, by default as recorded"
      return "record and verify with \(options)\(effect)"
    case .process:
      switch settings.isolation {
      case nil: return "give it process IDs of its own: --isolate"
      case "namespaces": return nil
      default: return "give it process IDs of its own, which needs namespaces: --isolate=namespaces"
      }
    default: return nil
    }
  }

  /// What it means that such values differ although the runs had the options that make them equal; nil if they had not.
  ///
  /// - Parameter interface: what the runs were started with.
  /// - Returns: a clause.
  func doubt(in interface: Interface) -> String? {
    guard case .command(let settings) = interface else { return nil }
    switch self {
    case .instant where settings.isEffective && settings.isClockFrozen:
      return "it still differs with a frozen clock, so it may be the time of a file, or an elapsed time"
    case .uuid, .random, .hashOrder, .address:
      guard settings.isEffective, settings.isRandom else { return nil }
      return "it still differs with --random, so threads may be the cause"
        + (self == .address ? "" : ", or a source of random values that --random does not seed")
    case .process where settings.isolation == "namespaces":
      return "it still differs in a namespace, so processes may start in another order"
    default: return nil
    }
  }

  /// What to do in the program; nil if that is not known.
  private func fixesOfProgram(in interface: Interface) -> [String]? {
    let isTest = interface.isTest
    switch self {
    case .instant:
      return ["take the time from the environment's clock (controls.clock, or clock.start in DIORAMA_CONTRACT)"]
    case .uuid: return ["take it from the string store (controls.strings, or POST $DIORAMA_CONTROL/strings)"]
    case .random:
      return [
        "take it from the string store (controls.strings, or POST $DIORAMA_CONTROL/strings)",
        "or give the program's own generator a fixed seed",
      ]
    case .counter:
      return [
        "reset the file or database that counts before each run, or keep it in a new folder",
        "or take the value from the string store (controls.strings, or POST $DIORAMA_CONTROL/strings)",
      ]
    case .hashOrder:
      return [
        "sort the elements",
        "or fix the hash seed: PYTHONHASHSEED=0 for Python, SWIFT_DETERMINISTIC_HASHING=1 for Swift, PERL_HASH_SEED=0 for Perl",
      ]
    case .race:
      return [
        "send the requests one after another, or use their results in a fixed order",
        "or let the order not decide the answers: "
          + (isTest ? "order: .request or order: .free" : "--order request or --order free"),
      ]
    case .temporaryPath: return ["use a fixed path, or a path relative to the temporary folder"]
    case .port:
      return [
        isTest
          ? "let Diorama choose the port: ports: [\"NAME\"], then bind DIORAMA_PORT_NAME"
          : "let Diorama choose the port: --port NAME, then bind DIORAMA_PORT_NAME"
      ]
    case .process: return ["use DIORAMA_ENVIRONMENT where an ID of the run is needed"]
    case .duration: return ["measure by the environment's clock, which is frozen by default (controls.clock)"]
    case .address: return ["print a name or an ID of the object"]
    case .extra, .unknown: return nil
    }
  }
}

extension DifferenceKind.Place {
  /// How to leave a value there out of the comparison.
  fileprivate func exceptions(in interface: DifferenceKind.Interface) -> [String] {
    let isTest = interface.isTest
    switch self {
    case .matched(let rule): return ["ignore it with this rule in diorama.json: \(rule)"]
    case .header(let name):
      return [
        "leave the field out of the comparison: "
          + (isTest ? ".verified(ignoringHeaders: [\"\(name)\"])" : "--ignore-header \(name)")
      ]
    case .output:
      return [
        "leave it out of the output, or the output out of the comparison: "
          + (isTest ? ".verified(comparesOutput: false)" : "--ignore-output")
      ]
    case .other: return []
    }
  }
}

/// A value that differs, as it is in one run.
struct Sample: Sendable {
  var token: Token
  var facts: Trace.Facts
}

/// Classifies values that differ by their forms, and by what is known about the runs.
///
/// A kind is given only if the values of all runs fit it; `reason` says what they have in common.
struct Classification: Sendable, Equatable {
  var kind: DifferenceKind
  var reason: String

  /// - Parameters:
  ///   - samples: the value in at least two runs.
  ///   - name: the name of the value, as of a JSON member; empty for none.
  init(_ samples: [Sample], name: String) {
    let words = samples.map(\.token.word)
    let rules: [() -> Classification?] = [
      { Self.path(samples) },
      { Self.all(words, .uuid, "all are UUIDs", Self.isUUID) },
      { Self.instant(samples) },
      { Self.address(words) },
      { Self.port(samples, name) },
      { Self.process(samples, name) },
      { Self.duration(samples, name) },
      { Self.counter(samples) },
      { Self.random(words) },
    ]
    for rule in rules {
      guard let found = rule() else { continue }
      self = found
      return
    }
    self.init(.unknown, "")
  }

  init(_ kind: DifferenceKind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }

  private static func all(
    _ words: [String], _ kind: DifferenceKind, _ reason: String, _ fits: (String) -> Bool
  ) -> Classification? {
    words.allSatisfy(fits) ? Classification(kind, reason) : nil
  }

  private static func path(_ samples: [Sample]) -> Classification? {
    let folders = ["/tmp/", "/var/tmp/", "/var/folders/", "/dev/shm/", "/run/user/"]
    let fits = samples.allSatisfy { sample in
      folders.contains { sample.token.path.contains($0) && !sample.token.path.hasSuffix($0) }
    }
    return fits ? Classification(.temporaryPath, "all are paths in a folder for temporary files") : nil
  }

  /// `550e8400-e29b-41d4-a716-446655440000` (RFC 9562), perhaps within a longer word.
  private static func isUUID(_ word: String) -> Bool {
    let parts = word.split(separator: "-", omittingEmptySubsequences: false)
    let lengths = [8, 4, 4, 4, 12]
    return parts.indices.contains { start in
      guard start + 5 <= parts.count else { return false }
      return zip(parts[start...], lengths).enumerated().allSatisfy { index, pair in
        // The first and the last part may belong to a longer word, as in `id_550e8400-…`.
        let part = index == 0 ? pair.0.suffix(8) : index == 4 ? pair.0.prefix(12) : pair.0
        return part.count == pair.1 && part.allSatisfy(\.isHexDigit)
      }
    }
  }

  // MARK: Times

  private static func instant(_ samples: [Sample]) -> Classification? {
    if samples.allSatisfy({ isInstant($0.token) }) {
      return Classification(.instant, "all are dates or times of day")
    }
    for (unit, name) in [(1.0, "seconds"), (1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")] {
      let fits = samples.allSatisfy { sample in
        guard let number = Double(sample.token.word), number.isFinite else { return false }
        // A second before and after, for clocks that are read in steps.
        return sample.facts.time.lowerBound - 1...sample.facts.time.upperBound + 1 ~= number / unit
      }
      if fits { return Classification(.instant, "each is the time of its run, in \(name) since 1970") }
    }
    return nil
  }

  private static func isInstant(_ token: Token) -> Bool {
    let word = token.word
    if Instant(word) != nil || Instant(word + "T00:00:00Z") != nil { return true }
    // The time of day of `2018-10-08 09:00:00.5` or of `Mon, 08 Oct 2018 09:00:00 GMT`.
    let clock = word.prefix { $0.isNumber || $0 == ":" || $0 == "." || $0 == "+" }
    return clock.count { $0 == ":" } >= 2 && Instant("2018-10-08T\(clock)") != nil
  }

  private static func duration(_ samples: [Sample], _ name: String) -> Classification? {
    let units = [
      "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
      "millisecond": 1e-3, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9, "min": 60, "minutes": 60,
    ]
    let names = ["took", "elapsed", "duration", "latency", "seconds", "millis", "runtime"]
    let fits = samples.allSatisfy { sample in
      let word = sample.token.word
      let digits = word.prefix { $0.isNumber || $0 == "." }
      guard let number = Double(digits) else { return false }
      let rest = word[digits.endIndex...]
      let next = sample.token.after.hasPrefix(" ") ? sample.token.after.dropFirst().prefix { $0.isLetter } : ""
      if let unit = units[String(rest.isEmpty ? next : rest)] {
        // No part of a run takes longer than the run.
        return number * unit <= sample.facts.time.upperBound - sample.facts.time.lowerBound + 1
      }
      guard rest.isEmpty else { return false }
      let near = (name + " " + sample.token.before.suffix(24)).lowercased()
      return names.contains { near.contains($0) }
    }
    return fits ? Classification(.duration, "all are amounts of time, at most as long as their run") : nil
  }

  // MARK: Numbers of the system

  private static func address(_ words: [String]) -> Classification? {
    all(words, .address, "all are hexadecimal numbers with 0x") { word in
      word.hasPrefix("0x") && word.count >= 8 && word.dropFirst(2).allSatisfy(\.isHexDigit)
    }
  }

  private static func port(_ samples: [Sample], _ name: String) -> Classification? {
    let fits = samples.allSatisfy { sample in
      // `127.0.0.1:40123` is one word.
      let digits = sample.token.word.split(separator: ":").last.map(String.init) ?? ""
      guard let number = Int(digits), 1024...65_535 ~= number else { return false }
      if sample.token.word.contains(":") { return true }
      let before = sample.token.before.lowercased()
      return ["localhost:", "]:", "://"].contains { before.hasSuffix($0) } || before.suffix(12).contains("port")
        || name.lowercased().hasSuffix("port")
    }
    return fits ? Classification(.port, "all are numbers in the place of a port") : nil
  }

  private static func process(_ samples: [Sample], _ name: String) -> Classification? {
    let isNamed = samples.allSatisfy { sample in
      let near = (name + " " + sample.token.before.suffix(12)).lowercased()
      return near.contains("pid") || near.contains("process")
    }
    let numbers = samples.map { $0.token.number.flatMap { Int($0) } }
    if isNamed, numbers.allSatisfy({ $0 != nil }) {
      return Classification(.process, "all are numbers whose name says so")
    }
    let fits = zip(samples, numbers).allSatisfy { sample, number in
      guard let number, let processes = sample.facts.processes, processes.count < 5000, number >= 300 else {
        return false
      }
      return processes ~= number
    }
    return fits ? Classification(.process, "each is one of the IDs that the system assigned during its run") : nil
  }

  // MARK: Values of the program

  private static func counter(_ samples: [Sample]) -> Classification? {
    let numbers = samples.compactMap { $0.token.number.flatMap { Int($0) } }
    // What surrounds the numbers has to be the same.
    let frames = Set(samples.map { sample in sample.token.word.replacing(sample.token.number ?? "", with: "#") })
    guard numbers.count == samples.count, frames.count == 1 else { return nil }
    let sorted = numbers.sorted()
    let steps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }
    guard let step = steps.min(), step > 0, let last = sorted.last, let first = sorted.first else { return nil }
    // Runs without a sample may have counted, too.
    let runs = samples.map(\.facts.run)
    let most = ((runs.max() ?? 1) - (runs.min() ?? 1) + 1) * step
    guard step <= 1000, last - first <= most, steps.allSatisfy({ $0 % step == 0 }) else { return nil }
    // Two values that are near each other may be random.
    guard samples.count > 2 || step <= 10 else { return nil }
    return Classification(.counter, "all are whole numbers close to each other, none twice")
  }

  private static func random(_ words: [String]) -> Classification? {
    all(words, .random, "all are long numbers or mixtures of letters and digits") { word in
      let digits = word.count { $0.isNumber }
      let isNumber = word.allSatisfy { $0.isNumber || $0 == "." }
      if isNumber { return digits >= 5 }
      return word.count >= 8 && digits >= 1 && word.contains { $0.isLetter }
    }
  }
}
