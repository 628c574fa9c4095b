import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Choices and shuffles")
struct ListTests {
  private enum Plan: String, CaseIterable {
    case gold, silver, bronze
  }

  /// A type without a text.
  private struct Slot: Equatable {
    var hour: Int
  }

  private let plans = StringList.options(["gold", "silver", "bronze"])
  private let slots = [Slot(hour: 9), Slot(hour: 12), Slot(hour: 15)]

  private func recorded(_ use: (RandomStrings) throws -> Void) throws -> [StringUse] {
    try withControlServer { server in
      try use(try fixture(.init(policy: .report), control: server.control).strings)
      return try server.uses()
    }
  }

  @Test("are recorded with the texts of the list")
  func texts() throws {
    var got: [String] = []
    let uses = try recorded {
      got.append(try $0.choice("plan", from: Plan.allCases).rawValue)
      got.append(try $0.choice("plan", from: ["gold", "silver", "bronze"][...]))
      got.append(String(try $0.choice("number", from: 7...7)))
      got.append(try $0.shuffle("order", of: Plan.allCases).map(\.rawValue).joined(separator: ","))
    }
    #expect(uses.map(\.parameters) == [.choice(plans), .choice(plans), .choice(.options(["7"])), .shuffle(plans)])
    #expect(uses.prefix(3).map(\.value) == got.prefix(3).map(Optional.init))
    let order = try #require(uses[3].value).split(separator: ",").compactMap { Int($0) }
    #expect(order.map { Plan.allCases[$0].rawValue }.joined(separator: ",") == got[3])
  }

  @Test("are recorded as index and count if the elements have no text or are very many")
  func places() throws {
    var got: [Slot] = []
    let uses = try recorded {
      got.append(try $0.choice("slot", from: slots))
      _ = try $0.shuffle("slots", of: slots)
      _ = try $0.choice("many", from: 0..<256)
      _ = try $0.choice("many", from: 0..<257)
    }
    #expect(uses.map(\.parameters.list) == [.count(3), .count(3), .options((0..<256).map(String.init)), .count(257)])
    #expect(uses[0].value == slots.firstIndex(of: got[0]).map(String.init))
  }

  @Test("are derived from the integer and the bytes of the same key and ordinal")
  func derived() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    let derivation = StringDerivation(seed: "recording-2018")
    for ordinal in 0..<50 {
      let place = try derivation.integer(key: "plan", ordinal: ordinal, in: 0...2)
      #expect(try strings.choice("plan", from: Plan.allCases) == Plan.allCases[Int(place)])
    }
    #expect(try strings.shuffle("deck", of: 0..<10) == [4, 5, 0, 6, 1, 9, 2, 7, 8, 3])
    #expect(try derivation.shuffle(key: "deck", ordinal: 0, count: 10) == [4, 5, 0, 6, 1, 9, 2, 7, 8, 3])
  }

  @Test("are read in replay")
  func replayed() throws {
    let strings = try replay([
      "plan": [.init(value: "bronze", parameters: .choice(plans))],
      "slot": [.init(value: "1", parameters: .choice(.count(3)))],
      "order": [.init(value: "2,0,1", parameters: .shuffle(plans))],
      "none": [.init(value: "", parameters: .shuffle(.options([])))],
    ]).strings
    #expect(try strings.choice("plan", from: Plan.allCases) == .bronze)
    #expect(try strings.choice("slot", from: slots) == Slot(hour: 12))
    #expect(try strings.shuffle("order", of: Plan.allCases) == [.bronze, .gold, .silver])
    #expect(try strings.shuffle("none", of: [String]()) == [])
  }

  @Test("are missing in replay for a different list")
  func otherList() throws {
    let entry = StringEntry(value: "gold", parameters: .choice(plans))
    for list in [["gold", "silver"], ["silver", "gold", "bronze"], ["gold", "silver", "bronze", "tin", "lead"]] {
      let strings = try replay(["plan": [entry]]).strings
      let error = try #require(#expect(throws: DioramaError.self) { try strings.choice("plan", from: list) })
      #expect(error.kind == .missingString)
      #expect(error.description.contains(#"it was recorded as a choice out of ["gold", "silver", "bronze"]"#))
    }
  }

  @Test("fail if the store was edited by hand", arguments: ["0,1", "0,1,1", "0,1,3", "a", ""])
  func changed(_ order: String) throws {
    let strings = try replay([
      "plan": [.init(value: "tin", parameters: .choice(plans)), .init(value: "3", parameters: .choice(.count(3)))],
      "order": [.init(value: order, parameters: .shuffle(plans))],
    ]).strings
    #expect(throws: DioramaError.self) { try strings.choice("plan", from: Plan.allCases) }
    #expect(throws: DioramaError.self) { try strings.choice("plan", from: slots) }
    #expect(throws: DioramaError.self) { try strings.shuffle("order", of: Plan.allCases) }
  }

  @Test(
    "reject an empty list and a list that is too long, also without a contract, and do not count as a use of the key")
  func refused() throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      let error = #expect(throws: DioramaError.self) { try strings.choice("plan", from: [Plan]()) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.description.contains("empty list") == true)
      #expect(throws: DioramaError.self) { try strings.shuffle("all", of: 0...100_000) }
    }
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(throws: DioramaError.self) { try strings.choice("plan", from: [Plan]()) }
    #expect(
      try strings.uuid("plan") == StringDerivation(seed: "recording-2018").uuid(key: "plan", ordinal: 0))
  }

  @Test("are really random without a contract")
  func live() throws {
    let strings = RandomStrings.live
    #expect(Set(try (0..<200).map { _ in try strings.choice("plan", from: Plan.allCases) }).count == 3)
    let deck = Array(0..<52)
    let orders = try (0..<10).map { _ in try strings.shuffle("deck", of: deck) }
    #expect(Set(orders).count == 10)
    #expect(orders.allSatisfy { $0.sorted() == deck })
  }

  @Test("place each element at each index about equally often")
  func isEven() throws {
    let derivation = StringDerivation(seed: "even")
    var counts: [[Int]: Int] = [:]
    for ordinal in 0..<6_000 {
      counts[try derivation.shuffle(key: "k", ordinal: ordinal, count: 3), default: 0] += 1
    }
    #expect(counts.count == 6)
    #expect(counts.values.allSatisfy { 850...1_150 ~= $0 })
  }
}

extension StringParameters {
  fileprivate var list: StringList? {
    switch self {
    case .choice(let list), .shuffle(let list): list
    default: nil
    }
  }
}
