import Foundation
import TestSupport
import Testing

@Suite("diorama contract", .timeLimit(.minutes(5)))
struct ContractCommandTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
    try folder.write(
      #"""
      {"version": 1, "environment": {"id": "e-1", "name": "Booking"}, "mode": "replay",
       "clock": {"kind": "frozen", "start": "2018-10-08T09:00:00Z", "timeZone": "Europe/London"}, "seed": "s",
       "toggles": {"skip-onboarding": true}, "defaults": {"lastLogin": {"$date": "2018-10-08T09:00:00Z"}},
       "values": {"location": "51.5,-0.1"}, "endpoints": {"api": "http://127.0.0.1:20013"}, "ports": {"debug": 20012},
       "credentials": {"store": "memory",
                       "items": [{"service": "clinic", "account": "ann", "secret": "aHVudGVyMg=="}]},
       "control": {"url": "http://127.0.0.1:20011/__diorama", "token": "t0ken"}, "weather": 1}
      """#, to: "contract.json")
  }

  @Test("show lists what a contract holds, and hides its secrets")
  func show() async throws {
    let outcome = try await Diorama.run("contract", "show", folder.file("contract.json"))
    #expect(outcome.status == 0, "\(outcome.words)")
    let cells = outcome.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(outcome.text.hasPrefix("\(folder.file("contract.json")): version 1, Booking\n"))
    for row in [
      ["mode", "replay"], ["clock", "frozen,", "2018-10-08T09:00:00Z,", "Europe/London"], ["not", "known", "weather"],
      ["toggle", "skip-onboarding", "true"], ["default", "lastLogin", #"{"$date":"2018-10-08T09:00:00Z"}"#],
      ["value", "location", #""51.5,-0.1""#], ["endpoint", "api", "http://127.0.0.1:20013"],
      ["port", "debug", "20012"],
      ["credential", "clinic/ann", "<secret>"],
      ["control", "http://127.0.0.1:20011/__diorama,", "token", "<secret>"],
    ] {
      #expect(cells.contains(row), "\(row) is not in \(outcome.text)")
    }
    for secret in ["aHVudGVyMg", "hunter2", "t0ken"] { #expect(!outcome.text.contains(secret)) }
  }

  @Test("show --json has the contract's own form, without its secrets")
  func showJSON() async throws {
    let outcome = try await Diorama.run("contract", "show", "--json", folder.file("contract.json"))
    let contract = try object(outcome.text)
    #expect((contract["toggles"] as? [String: Bool])?["skip-onboarding"] == true)
    #expect((contract["control"] as? [String: String])?["token"] == "<secret>")
    #expect(outcome.text.contains("clinic"))
    for secret in ["aHVudGVyMg", "t0ken"] { #expect(!outcome.text.contains(secret)) }
  }

  @Test("shows the contract that the command was started with")
  func own() async throws {
    let program = try Diorama.words([])[0]
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--toggle", "fast=true", "--", String(decoding: program, as: UTF8.self), "contract",
      "show")
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(outcome.text.hasPrefix("DIORAMA_CONTRACT: version 1"))
    #expect(outcome.text.contains("fast"))
  }

  @Test("check says ok, and names the members that are not known")
  func check() async throws {
    let outcome = try await Diorama.run("contract", "check", folder.file("contract.json"))
    #expect(outcome.status == 0)
    #expect(outcome.text == "\(folder.file("contract.json")): ok, version 1\n")
    #expect(outcome.lines == ["diorama: these members are not known: weather"])
    let json = try object(try await Diorama.run("contract", "check", "--json", folder.file("contract.json")).text)
    #expect(json["version"] as? Int == 1)
    #expect(json["unknownFields"] as? [String] == ["weather"])
  }

  @Test(
    "check ends with 65 and one line for a contract that no app could read",
    arguments: [
      (#"{"version": 2}"#, "version: 2"), ("{", "not valid JSON"),
      (#"{"version": 1, "clock": {"kind": "sundial"}}"#, "clock.kind"),
      (#"{"version": 1, "defaults": {"x": null}}"#, "defaults.x: user defaults cannot hold null"),
    ])
  func broken(_ contract: String, _ problem: String) async throws {
    try folder.write(contract, to: "broken.json")
    let outcome = try await Diorama.run("contract", "check", folder.file("broken.json"))
    expectOneLine(outcome, status: 65, naming: folder.file("broken.json"), problem)
    let json = try await Diorama.run("contract", "check", "--json", folder.file("broken.json"))
    #expect(json.status == 65)
    #expect((try object(json.text)["problem"] as? String)?.contains(problem) == true)
  }

  @Test("ends with 66 where there is no such file, and with 64 where nothing is named")
  func absent() async throws {
    expectOneLine(try await Diorama.run("contract", "show", folder.file("x.json")), status: 66, naming: "x.json")
    expectOneLine(try await Diorama.run("contract", "check"), status: 64, naming: "DIORAMA_CONTRACT")
    expectOneLine(try await Diorama.run("contract", "chek"), status: 64, naming: "did you mean check?")
    expectOneLine(try await Diorama.run("contract"), status: 64, naming: "show or check")
  }

  @Test("has help", arguments: [["contract"], ["contract", "show"], ["contract", "check"]])
  func help(_ words: [String]) async throws {
    let outcome = try await Diorama.run(words + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("usage: diorama contract"))
  }
}
