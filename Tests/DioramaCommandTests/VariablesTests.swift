import Foundation
import TestSupport
import Testing

@Suite("Variables of the command", .timeLimit(.minutes(5)))
struct VariablesTests {
  /// The variables of a command.
  private func variables(_ options: String..., variables: [String: String?] = [:]) async throws -> [String: String] {
    let outcome = try await Diorama.run(
      ["run", "--allow-no-requests"] + options + ["--", "env", "-0"], variables: variables)
    #expect(outcome.status == 0, "\(outcome.words)")
    return Dictionary(
      outcome.text.split(separator: "\0").map { line in
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts[0], parts[1])
      }
    ) { first, _ in first }
  }

  @Test("include endpoints, with upper-case names and _ for other characters")
  func endpoints() async throws {
    let seen = try await variables(
      "--mode", "proxy", "--upstream", "api=http://a.test", "--upstream", "my-api.v2=https://b.test:8443")
    let urls = ["DIORAMA_ENDPOINT_API", "DIORAMA_ENDPOINT_MY_API_V2"].compactMap { seen[$0] }
    #expect(Set(urls).count == 2)
    for url in urls { #expect(url.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+/) != nil) }
    let contract = try object(try #require(seen["DIORAMA_CONTRACT"]))
    #expect(contract["endpoints"] as? [String: String] == ["api": urls[0], "my-api.v2": urls[1]])
  }

  @Test("include the id, the control URL and a valid token")
  func control() async throws {
    let script = """
      import http.client, json, os
      url = os.environ["DIORAMA_CONTROL"]
      host, path = url.split("//")[1].split("/", 1)
      def ask(headers):
          connection = http.client.HTTPConnection(host)
          connection.request("POST", f"/{path}/strings", json.dumps({"key": "email", "length": 12}), headers)
          response = connection.getresponse()
          return response.status, response.read().decode()
      print(ask({})[0])
      status, body = ask({"Authorization": "Bearer " + os.environ["DIORAMA_TOKEN"]})
      print(status, json.loads(body)["value"])
      print(os.environ["DIORAMA_ENVIRONMENT"])
      print(os.environ["DIORAMA_CONTRACT"])
      """
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock", "--seed", "recording-2018", "--"] + Program.python + ["-c", script])
    let lines = outcome.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 4, "\(outcome.words)")
    #expect(lines[0] == "401")
    #expect(lines[1] == "200 z0r1lpyugt7o")
    let contract = try object(lines[3])
    #expect((contract["environment"] as? [String: Any])?["id"] as? String == lines[2])
  }

  @Test("include the contract inline, with all options")
  func contract() async throws {
    let seen = try await variables(
      "--mode", "mock", "--seed", "s", "--clock", "scaled:60", "--start", "2018-10-08T09:00:00Z", "--time-zone",
      "Europe/London", "--locale", "en_GB", "--toggle", "skip=true", "--toggle", "word=bare word", "--toggle", "n=1.5",
      "--default", "list=[1,\"a\"]", "--value", "location=51.5,-0.1", "--value", "empty=", "--value",
      "quoted=\"true\"", "--port", "debug")
    #expect(seen["TZ"] == "Europe/London")
    let contract = try object(try #require(seen["DIORAMA_CONTRACT"]))
    #expect(contract["version"] as? Int == 1)
    #expect(contract["mode"] as? String == "mock")
    #expect(contract["seed"] as? String == "s")
    #expect(contract["credentials"] == nil)
    let clock = try #require(contract["clock"] as? [String: Any])
    #expect(clock["kind"] as? String == "scaled")
    #expect(clock["rate"] as? Double == 60)
    #expect(clock["start"] as? String == "2018-10-08T09:00:00Z")
    #expect(clock["timeZone"] as? String == "Europe/London")
    #expect(clock["locale"] as? String == "en_GB")
    let toggles = try #require(contract["toggles"] as? [String: Any])
    #expect(toggles["skip"] as? Bool == true)
    #expect(toggles["word"] as? String == "bare word")
    #expect(toggles["n"] as? Double == 1.5)
    #expect((contract["defaults"] as? [String: [Any]])?["list"]?.count == 2)
    #expect(contract["values"] as? [String: String] == ["location": "51.5,-0.1", "empty": "", "quoted": "true"])
    #expect(contract["ports"] as? [String: Int] == ["debug": Int(seen["DIORAMA_PORT_DEBUG"] ?? "") ?? 0])
    let control = try #require(contract["control"] as? [String: Any])
    #expect(control["url"] as? String == seen["DIORAMA_CONTROL"])
    #expect(control["token"] as? String == seen["DIORAMA_TOKEN"])
  }

  @Test("include the caller's variables, and its TZ if no zone is set")
  func inherited() async throws {
    let seen = try await variables(
      "--mode", "mock", variables: ["FOO": "bar", "TZ": "Asia/Tokyo", "DIORAMA_CONTRACT": "an outer one"])
    #expect(seen["FOO"] == "bar")
    #expect(seen["TZ"] == "Asia/Tokyo")
    #expect(seen["DIORAMA_CONTRACT"]?.hasPrefix("{") == true)
    #expect(seen["LISTEN_FDS"] == nil)
  }

  @Test(
    "the clock is frozen by default, and the system clock in proxy",
    arguments: [("mock", "frozen"), ("proxy", "system")])
  func clock(mode: String, kind: String) async throws {
    let seen = try await variables("--mode", mode, "--upstream", "api=http://a.test")
    let contract = try object(try #require(seen["DIORAMA_CONTRACT"]))
    #expect((contract["clock"] as? [String: Any])?["kind"] as? String == kind)
  }
}

@Suite("Credentials", .timeLimit(.minutes(5)))
struct CredentialTests {
  @Test("reach the app through a private file, never through a command line, a report or a journal")
  func secret() async throws {
    let folder = try Folder()
    try folder.write("from-the-file", to: "secret", mode: 0o600)
    let secret = "hunter-\(UUID().uuidString)"
    let script = """
      import base64, json, os, stat
      value = os.environ["DIORAMA_CONTRACT"]
      path = value.removeprefix("file:")
      print(value.startswith("file:/"))
      print(oct(stat.S_IMODE(os.stat(path).st_mode)), oct(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)))
      for item in json.load(open(path))["credentials"]["items"]:
          print(item["service"], item["account"], base64.b64decode(item["secret"]).decode())
      print(path)
      for pid in filter(str.isdigit, os.listdir("/proc")):
          try: line = open(f"/proc/{pid}/cmdline", "rb").read()
          except OSError: continue
          if os.environ["TOKEN"].encode() in line: print("seen in", line)
      """
    let outcome = try await Diorama.run(
      [
        "run", "--mode", "mock", "--credential", "clinic/auth-token=env:TOKEN", "--credential",
        "mail/a=b/c=file:\(folder.file("secret"))", "--report", folder.file("report"), "--journal",
        folder.file("journal"), "--",
      ] + Program.python + ["-c", script], variables: ["TOKEN": secret, "TMPDIR": folder.path])
    #expect(outcome.status == 0, "\(outcome.words)")
    let lines = outcome.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 5, "\(outcome.text)")
    #expect(lines[0] == "True")
    #expect(lines[1] == "0o600 0o700")
    #expect(lines[2] == "clinic auth-token \(secret)")
    #expect(lines[3] == "mail a=b/c from-the-file")
    #expect(!FileManager.default.fileExists(atPath: lines[4]))
    #expect(folder.names == ["journal", "report", "secret"])
    for text in [try folder.read("report"), try folder.read("journal"), outcome.words] {
      #expect(!text.contains(secret))
      #expect(!text.contains(Data(secret.utf8).base64EncodedString()))
    }
  }

  @Test("pass a contract over 32 KiB as a file")
  func large() async throws {
    let value = String(repeating: "x", count: 40_000)
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--value", "big=\(value)", "--", "sh", "-c",
      "wc -c < \"${DIORAMA_CONTRACT#file:}\"; echo \"$DIORAMA_CONTRACT\"")
    let lines = outcome.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 2, "\(outcome.words)")
    #expect((Int(lines[0].trimmingCharacters(in: .whitespaces)) ?? 0) > 40_000)
    #expect(lines[1].hasPrefix("file:/"))
    #expect(!FileManager.default.fileExists(atPath: String(lines[1].dropFirst(5))))
  }
}
