package import HTTPServer

/// Where a program wanted to connect to.
package struct Destination: Sendable, Hashable, CustomStringConvertible {
  /// The IPv4 or IPv6 address, such as `198.18.0.1`.
  package var address: String
  package var port: UInt16
  /// The host name in lower case: from TLS (SNI), from CONNECT, or the one that the address was assigned to, in this
  /// order; nil if the program used an address.
  package var name: String?
  /// Whether the program uses TLS, which the interceptor has removed.
  package var isTLS: Bool
  /// Whether it is the interceptor itself, which the program uses as its proxy.
  package var isProxy = false

  /// - Parameters:
  ///   - address: the IPv4 or IPv6 address.
  ///   - port: the port.
  ///   - name: the host name in lower case.
  ///   - isTLS: whether the program uses TLS.
  package init(address: String, port: UInt16, name: String? = nil, isTLS: Bool = false) {
    self.address = address
    self.port = port
    self.name = name
    self.isTLS = isTLS
  }

  /// The interceptor itself as a proxy.
  ///
  /// - Parameter port: its port on 127.0.0.1.
  package init(proxyPort port: UInt16) {
    self.init(address: "127.0.0.1", port: port)
    isProxy = true
  }

  /// The name, or else the address.
  package var host: String { name ?? address }

  /// The host and the port, as in a URL.
  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where bytes that are not HTTP are relayed to.
package struct RelayTarget: Sendable, Equatable {
  /// A host name or an address, as this machine resolves it.
  package var host: String
  package var port: UInt16

  /// - Parameters:
  ///   - host: a host name or an address.
  ///   - port: the port.
  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }
}

/// Something to report about intercepted connections.
package enum InterceptionEvent: Sendable, Equatable {
  /// The program did not accept the certificate: it sent an alert, or closed the connection. It may have its own list of
  /// authorities, or accept only a certain certificate (pinning). The cause is a phrase for people.
  case certificateRefused(Destination, cause: String)
  /// TLS connections were closed after the certificate, without a request, although others show trust in it. They may be
  /// spare ones of a browser, or those of a program that does not trust it.
  case unused(Destination, count: Int)
  /// A TLS handshake failed for another reason.
  case handshakeFailed(Destination, cause: String)
  /// A connection was closed because the interceptor cannot handle its protocol.
  case unsupported(Destination, protocol: String)
  /// A connection is relayed in which the server sent first. The protocol is a guess.
  case relayed(Destination, protocol: String)
  /// A target to relay to cannot be reached.
  case relayFailed(Destination, cause: String)
  /// A connection has ended on which the program sent nothing, although it had time to, and which was not relayed.
  case silent(Destination)
  /// No address is left for another name.
  case nameTableFull(name: String)
  /// Something else failed, such as a system call.
  case failed(String)
}

/// Decides what happens to intercepted connections. All methods are called on server threads and must return at once.
package protocol InterceptionDelegate: Sendable {
  /// Chooses what answers the HTTP requests of a connection.
  ///
  /// - Parameter destination: where the program wanted to connect to.
  /// - Returns: the handler.
  func handler(for destination: Destination) -> any RequestHandler

  /// Returns where to relay the bytes of a connection to that are not HTTP.
  ///
  /// - Parameters:
  ///   - destination: where the program wanted to connect to. If `isTLS` is true, the bytes stay encrypted.
  ///   - protocol: the name of the protocol, as far as it can be recognised, such as `SSH` or `TLS with ALPN mqtt`.
  /// - Returns: nil to close the connection; the delegate reports it.
  func relay(for destination: Destination, protocol: String) -> RelayTarget?

  /// Returns where to connect to for a program that has connected and sends nothing, because the server of its protocol
  /// may send first.
  ///
  /// - Parameter destination: where the program wanted to connect to.
  /// - Returns: nil to wait for the program.
  func relayOfSilentClient(for destination: Destination) -> RelayTarget?

  /// Returns whether to close the connection of a program that has connected and sends nothing.
  ///
  /// - Parameter destination: where the program wanted to connect to.
  /// - Returns: true to close it; the delegate reports it.
  func refusesSilentClient(for destination: Destination) -> Bool

  /// Something happened that belongs into a report.
  ///
  /// - Parameter event: what happened.
  func noticed(_ event: InterceptionEvent)
}

extension InterceptionDelegate {
  package func relay(for destination: Destination, protocol: String) -> RelayTarget? { nil }
  package func relayOfSilentClient(for destination: Destination) -> RelayTarget? { nil }
  package func refusesSilentClient(for destination: Destination) -> Bool { false }
}
