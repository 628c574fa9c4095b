import Testing

@testable import HTTPClient

@Suite("Client settings")
struct SettingsTests {
  private func settings(_ variables: [String: String], authorities: String? = nil) -> Settings {
    Settings(.init(certificateAuthorities: authorities, environment: variables))
  }

  @Test("prefer the proxy of a scheme to that for all")
  func proxies() {
    let settings = settings(["https_proxy": "a", "HTTPS_PROXY": "b", "ALL_PROXY": "c", "NO_PROXY": "d"])
    #expect(settings.proxy(for: "https") == "a")
    #expect(settings.proxy(for: "http") == "c")
    #expect(settings.noProxy == "d")
  }

  @Test("treat an empty variable as unset")
  func empty() {
    let settings = settings(["http_proxy": "", "all_proxy": "c", "SSL_CERT_FILE": ""])
    #expect(settings.proxy(for: "http") == "c")
    #expect(settings.authoritiesFile == nil)
  }

  @Test("prefer the configured authorities to those of a variable")
  func authorities() {
    let variables = ["CURL_CA_BUNDLE": "a", "SSL_CERT_FILE": "b", "SSL_CERT_DIR": "c"]
    #expect(settings(variables, authorities: "d").authoritiesFile == "d")
    #expect(settings(variables).authoritiesFile == "a")
    #expect(settings(variables).authoritiesFolder == nil)
    let others = settings(["SSL_CERT_FILE": "b", "SSL_CERT_DIR": "c"])
    #expect(others.authoritiesFile == "b")
    #expect(others.authoritiesFolder == "c")
  }

  @Test("clamp invalid times")
  func times() {
    for seconds in [0, -1, .infinity, .nan, 1e300] {
      let settings = Settings(.init(connectSeconds: seconds, stallSeconds: seconds, environment: [:]))
      #expect(settings.connectMilliseconds > 0)
      #expect(settings.stallNanoseconds > 0)
    }
  }
}
