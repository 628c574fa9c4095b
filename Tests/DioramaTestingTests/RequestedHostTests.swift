import DaemonClient
import Testing

@testable import DioramaTesting

@Suite("DIORAMA_DAEMON")
struct RequestedHostTests {
  private func folder(
    _ code: TestEnvironment.Host?, _ variable: String?
  ) throws(DioramaTestingError) -> String? {
    var variables = ["DIORAMA_HOME": "/own"]
    variables["DIORAMA_DAEMON"] = variable
    guard case .local(let home)? = try RequestedHost.resolve(code, variables: variables) else { return nil }
    return home.folder
  }

  @Test("selects the daemon if the code does not")
  func variable() throws {
    #expect(try folder(nil, nil) == nil)
    #expect(try folder(nil, "") == nil)
    #expect(try folder(nil, "0") == nil)
    #expect(try folder(nil, "1") == "/own")
    #expect(try folder(nil, "/state") == "/state")
  }

  @Test("is overridden by the code")
  func code() throws {
    #expect(try folder(.embedded, "1") == nil)
    #expect(try folder(.daemon, "0") == "/own")
    #expect(try folder(.daemon(stateFolder: "/state"), nil) == "/state")
  }

  @Test("causes an error for another value")
  func wrong() {
    let error = #expect(throws: DioramaTestingError.self) { try folder(nil, "yes") }
    #expect(
      error?.description
        == "DIORAMA_DAEMON is 'yes'; set it to 1 for your own daemon, to 0 for none, or to the absolute "
        + "path of a daemon's state folder or the https URL of one on another machine")
  }

  @Test("names a daemon on another machine by its URL, unless the code names another host")
  func url() throws {
    let variables = ["DIORAMA_DAEMON": "https://ci.example.com:4011", "DIORAMA_DAEMON_TOKEN": "t"]
    guard case .remote(let daemon)? = try RequestedHost.resolve(nil, variables: variables) else {
      Issue.record("no daemon on another machine")
      return
    }
    #expect(daemon.url == "https://ci.example.com:4011")
    #expect(try RequestedHost.resolve(.embedded, variables: variables) == nil)
    guard case .local? = try RequestedHost.resolve(.daemon(stateFolder: "/state"), variables: variables) else {
      Issue.record("the code's folder was ignored")
      return
    }
    #expect(throws: DioramaTestingError.self) {
      try RequestedHost.resolve(nil, variables: ["DIORAMA_DAEMON": "https://ci.example.com"])
    }
  }

  @Test("is overridden by a suite's host, and that by a test's host")
  func inherited() {
    let suite = TestEnvironment.Configuration(host: .daemon)
    #expect(TestEnvironment.Configuration().inside(suite).host == .daemon)
    #expect(TestEnvironment.Configuration(host: .embedded).inside(suite).host == .embedded)
  }
}
