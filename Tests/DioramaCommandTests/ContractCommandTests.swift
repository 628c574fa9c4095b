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
      """#, to: "contract.json", mode: 0o600)
  }

  @Test("show prints a contract without its secrets")
  func show() async throws {
    let outcome = try await Diorama.run("contract", "show", folder.file("contract.json"))
    #expect(outcome.status == 0, "\(outcome.words)")
    let cells = outcome.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(outcome.text.hasPrefix("\(folder.file("contract.json")): version 1, Booking\n"))
    for row in [
      ["mode", "replay"], ["clock", "frozen,", "2018-10-08T09:00:00Z,", "Europe/London"], ["unknown", "weather"],
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

  @Test("show --json prints the contract's JSON without its secrets")
  func showJSON() async throws {
    let outcome = try await Diorama.run("contract", "show", "--json", folder.file("contract.json"))
    let contract = try object(outcome.text)
    #expect((contract["toggles"] as? [String: Bool])?["skip-onboarding"] == true)
    #expect((contract["control"] as? [String: String])?["token"] == "<secret>")
    #expect(outcome.text.contains("clinic"))
    for secret in ["aHVudGVyMg", "t0ken"] { #expect(!outcome.text.contains(secret)) }
  }

  @Test("show prints the contract of its own process")
  func own() async throws {
    let program = try Diorama.words([])[0]
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--toggle", "fast=true", "--", String(decoding: program, as: UTF8.self), "contract",
      "show")
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(outcome.text.hasPrefix("DIORAMA_CONTRACT: version 1"))
    #expect(outcome.text.contains("fast"))
  }

  @Test("check reports ok and unknown members")
  func check() async throws {
    let outcome = try await Diorama.run("contract", "check", folder.file("contract.json"))
    #expect(outcome.status == 0)
    #expect(outcome.text == "\(folder.file("contract.json")): ok, version 1\n")
    #expect(outcome.lines == ["diorama: unknown members: weather"])
    let json = try object(try await Diorama.run("contract", "check", "--json", folder.file("contract.json")).text)
    #expect(json["version"] as? Int == 1)
    #expect(json["unknownFields"] as? [String] == ["weather"])
  }

  @Test(
    "check exits with 65 and one line for a contract that an app would refuse",
    arguments: [
      (#"{"version": 2}"#, "version: 2"), ("{", "not valid JSON"),
      (#"{"version": 1, "clock": {"kind": "sundial"}}"#, "clock.kind"),
      (#"{"version": 1, "defaults": {"x": null}}"#, "defaults.x: user defaults cannot hold null"),
      (
        #"{"version": 1, "clock": {"kind": "frozen", "start": "2018-10-08T09:00:00Z", "timeZone": "Mars/Base"}}"#,
        "clock.timeZone: 'Mars/Base'"
      ),
      (#"{"version": 1, "endpoints": {"api": "nowhere"}}"#, "endpoints.api: 'nowhere'"),
      (#"{"version": 1, "control": {"url": "ftp://x", "token": "t"}}"#, "control.url: 'ftp://x'"),
      (#"{"version": 1, "control": {"url": "http://127.0.0.1:1/", "token": "a b"}}"#, "control.token"),
      (#"{"version": 1, "strings": {"policy": "report"}}"#, "which requires control"),
      (#"{"version": 1, "strings": {"policy": "replay", "file": "/no/store"}}"#, "the string store /no/store"),
      (#"{"version": 1, "credentials": {"store": "disk"}}"#, "credentials.store"),
      (#"{"version": 1, "credentials": {"faults": [{"fault": "bad"}]}}"#, "credentials.faults.0.fault"),
    ])
  func broken(_ contract: String, _ problem: String) async throws {
    try folder.write(contract, to: "broken.json")
    let outcome = try await Diorama.run("contract", "check", folder.file("broken.json"))
    expectOneLine(outcome, status: 65, naming: folder.file("broken.json"), problem)
    let json = try await Diorama.run("contract", "check", "--json", folder.file("broken.json"))
    #expect(json.status == 65)
    #expect((try object(json.text)["problem"] as? String)?.contains(problem) == true)
  }

  @Test("exits with 66 for a missing file, and with 64 without a contract")
  func absent() async throws {
    for verb in ["show", "check"] {
      expectOneLine(
        try await Diorama.run("contract", verb, folder.file("x.json")), status: 66,
        naming: "no contract at \(folder.file("x.json")); check the path")
      expectOneLine(
        try await Diorama.run("contract", verb, variables: ["DIORAMA_CONTRACT": "file:\(folder.file("gone"))"]),
        status: 66, naming: "no contract at \(folder.file("gone")); DIORAMA_CONTRACT names it")
    }
    expectOneLine(try await Diorama.run("contract", "check"), status: 64, naming: "DIORAMA_CONTRACT")
    expectOneLine(try await Diorama.run("contract", "chek"), status: 64, naming: "did you mean 'check'?")
    expectOneLine(try await Diorama.run("contract"), status: 64, naming: "show or check")
  }

  @Test("check reports members that an app silently ignores")
  func notes() async throws {
    try folder.write(
      #"""
      {"version": 1, "seed": "a", "seed": "b", "mode": "repaly", "toggles": {"x": {"y": 1, "y": 2}},
       "clock": {"kind": "system", "start": "2018-10-08T09:00:00Z", "rate": 2},
       "strings": {"policy": "derive", "entries": {}}}
      """#, to: "odd.json")
    let outcome = try await Diorama.run("contract", "check", folder.file("odd.json"))
    #expect(outcome.status == 0)
    for text in [
      "seed is given more than once", "toggles.x.y is given", "mode: 'repaly' is not one of", "clock.start",
      "clock.rate", "strings.policy is derive",
    ] {
      #expect(outcome.words.contains(text), "\(outcome.words)")
    }
    #expect(outcome.lines.count == 6)
    let json = try object(try await Diorama.run("contract", "check", "--json", folder.file("odd.json")).text)
    #expect((json["notes"] as? [String])?.count == 6)
  }

  @Test("refuses a file with credentials that other users can read")
  func others() async throws {
    let path = folder.file("contract.json")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    expectOneLine(try await Diorama.run("contract", "check", path), status: 65, naming: "chmod 600 \(path)")
  }

  @Test("prints help", arguments: [["contract"], ["contract", "show"], ["contract", "check"]])
  func help(_ words: [String]) async throws {
    let outcome = try await Diorama.run(words + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("usage: diorama contract"))
  }
}
