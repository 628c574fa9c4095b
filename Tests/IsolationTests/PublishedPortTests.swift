import Basics
import Testing

@testable import Isolation

@Suite("Published ports")
struct PublishedPortTests {
  @Test(
    "are a port, or an address and a port",
    arguments: [
      ("8080", "127.0.0.1:8080"), ("1", "127.0.0.1:1"), ("65535", "127.0.0.1:65535"), ("0.0.0.0:80", "0.0.0.0:80"),
      ("[::1]:8080", "[::1]:8080"), ("[::]:8080", "[::]:8080"),
    ])
  func valid(text: String, description: String) throws {
    #expect(try PublishedPort(text).description == description)
  }

  @Test(
    "other texts are refused, with the reason",
    arguments: [
      ("", "the port is missing"), ("0", "'0' is not a port from 1 to 65535"), ("65536", "'65536' is not a port"),
      ("-1", "'-1' is not a port"), ("+1", "'+1' is not a port"), ("web", "'web' is not a port"),
      ("127.0.0.1:", "the port is missing"), ("127.0.0.1:0", "'0' is not a port"), (":80", "'' is not an IP address"),
      ("::1:8080", "put an IPv6 address in brackets"), ("[127.0.0.1]:80", "'127.0.0.1' is not an IP address"),
      ("8080:80", "'8080:80' names two ports"), ("localhost:80", "'localhost' is not an IP address"),
      ("[::1", "put an IPv6 address in brackets"), ("[]:80", "'' is not an IP address"),
    ])
  func invalid(text: String, words: String) throws {
    let error = try #require(throws: CodedError.self) { try PublishedPort(text) }
    #expect(error.kind == .usage && error.message.contains(words), "\(error)")
  }

  @Test("a port that is given twice, or leads both ways, is refused")
  func twice() throws {
    let port = PublishedPort(port: 1)
    for (published, admitted, words) in [
      ([port], [1], "cannot be published and be a port of the host"),
      ([], [2, 2], "port 2 of the host is given twice"),
    ] as [([PublishedPort], [UInt16], String)] {
      let error = try #require(throws: CodedError.self) {
        try PortForwarder(publishing: published, admitting: admitted)
      }
      #expect(error.kind == .usage && error.message.contains(words), "\(error)")
    }
  }
}
