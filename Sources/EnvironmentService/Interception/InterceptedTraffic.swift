import Basics
import Foundation
import HTTPMessages
import HTTPServer
import Transforms

#if os(Linux)
  import Interception

  /// Passes intercepted connections to an environment.
  final class InterceptedTraffic: InterceptionDelegate {
    private let environment: Environment
    /// Until when the certificates are valid.
    private let expiry: Date

    /// Connections share them, so that also the first request of a connection can take the fast path.
    private let handlers = Guarded<[Destination: InterceptedHandler]>([:])

    /// - Parameters:
    ///   - environment: answers the requests, and gets the reports.
    ///   - expiry: until when the certificates are valid.
    init(_ environment: Environment, certificatesUntil expiry: Date) {
      self.environment = environment
      self.expiry = expiry
    }

    func handler(for destination: Destination) -> any RequestHandler {
      if let known = handlers.withLock({ $0[destination] }) { return known }
      let handler = InterceptedHandler(
        environment, scheme: destination.isTLS ? "https" : "http", host: Self.host(of: destination),
        port: Int(destination.port), isProxy: destination.isProxy)
      handlers.withLock { handlers in
        // A program may connect to any number of addresses and ports.
        if handlers.count >= 1_000 { handlers.removeAll() }
        handlers[destination] = handler
      }
      return handler
    }

    /// Whether the command has asked for it by HTTP, or the recording has it: a spare connection is no other protocol.
    private func isUpstream(_ destination: Destination) -> Bool {
      let host = Self.host(of: destination)
      return environment.upstreams.contains { $0.origin.host == host && $0.origin.port == Int(destination.port) }
    }

    func relay(for destination: Destination, protocol name: String) -> RelayTarget? {
      guard let target = target(of: destination) else {
        let (host, port) = (Self.host(of: destination), Int(destination.port))
        guard !environment.isDenied(host: host, port: port) else {
          noteDenied(destination)
          return nil
        }
        if environment.mode.mayReachNetwork {
          environment.fail(
            "\(destination) was refused: the host is not among the allowed hosts; add --allow \(destination.host), or "
              + "refuse it with --deny \(destination.host)")
        } else {
          environment.fail(
            "\(destination) was not reached: its protocol (\(name)) is not HTTP and cannot be replayed; use a server "
              + "on this machine instead (--host-port), or refuse it with --deny \(destination.host)")
        }
        return nil
      }
      environment.noteRelayed("\(destination) (\(name)); a replay cannot serve it")
      return target
    }

    func relayOfSilentClient(for destination: Destination) -> RelayTarget? {
      guard !environment.isMapped(host: Self.host(of: destination), port: Int(destination.port)) else { return nil }
      return target(of: destination)
    }

    func refusesSilentClient(for destination: Destination) -> Bool {
      // Browsers open connections to web servers in advance.
      guard ![80, 443].contains(destination.port), !destination.isProxy,
        environment.isDenied(host: Self.host(of: destination), port: Int(destination.port))
      else { return false }
      noteDenied(destination)
      return true
    }

    private func noteDenied(_ destination: Destination) {
      environment.noteRemark("\(destination) was refused: the host is denied (--deny, isolation.deny)")
    }

    /// Programs that trust only the system's certificates need files that only namespaces can replace.
    private func noteSystemTrust() {
      guard environment.isolationKind != "namespaces" else { return }
      environment.noteRemark(
        "programs that trust only the system's certificates (such as wget, and Swift's URLSession) do not trust those of the "
          + "environment; use --isolate=namespaces")
    }

    func noticed(_ event: InterceptionEvent) {
      switch event {
      case .certificateRefused(let destination, let cause):
        guard !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port)) else { return }
        guard environment.now <= expiry else {
          return environment.fail(
            "the command refused the environment's certificate for \(destination) (\(cause)): by the environment's clock, it has expired at "
              + "\(RFC3339.format(expiry)); begin at a later date with \(environment.specification.startAdvice)")
        }
        noteSystemTrust()
        environment.fail(
          "the command seems not to trust the environment's certificate for \(destination) (\(cause)): it may trust only "
            + "its own CAs or a pinned certificate; turn that off in a test build, give it an endpoint (--upstream, --env), "
            + "or, if it does not need the host, add --deny \(destination.host)")
      case .unused(let destination, let count):
        guard !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port)) else { return }
        let what =
          count == 1 ? "1 TLS connection to \(destination) was" : "\(count) TLS connections to \(destination) were"
        environment.noteRemark(
          "\(what) closed after the certificate was sent, without a request: a program may not "
            + "trust it, or has opened connections in advance, as browsers do")
        noteSystemTrust()
      case .handshakeFailed(let destination, let cause):
        environment.noteIntercepted("TLS handshake for \(destination): \(cause)")
      case .unsupported(let destination, let name):
        guard !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port)) else { return }
        let advice = name == "HTTP/2" ? "have the program use HTTP/1.1, or refuse" : "refuse"
        environment.fail(
          "\(destination) was not reached: its protocol (\(name)) is not supported; \(advice) the host with "
            + "--deny \(destination.host)")
      case .relayed(let destination, let name):
        environment.noteRelayed("\(destination) (\(name)); a replay cannot serve it")
      case .relayFailed(let destination, let cause):
        environment.noteRelayed("\(destination) cannot be reached: \(cause)")
      case .silent(let destination):
        // Browsers open connections to web servers in advance.
        guard ![80, 443].contains(destination.port), !destination.isProxy, !isUpstream(destination),
          !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port))
        else { return }
        environment.fail(
          "\(destination) was not reached: the command sent nothing, so in its protocol the server may send first, which cannot "
            + "be replayed; use a server on this machine instead (--host-port), or refuse it with --deny \(destination.host)"
        )
      case .nameTableFull(let name):
        environment.fail("\(name) was not resolved: the command has looked up too many names; have it use fewer")
      case .failed(let text): environment.fail(text)
      }
    }

    private func target(of destination: Destination) -> RelayTarget? {
      let host = Self.host(of: destination)
      guard environment.mayRelay(host: host, port: Int(destination.port)) else { return nil }
      return RelayTarget(host: destination.host, port: destination.port)
    }

    /// The host as in a URL.
    private static func host(of destination: Destination) -> String {
      destination.host.contains(":") ? "[\(destination.host)]" : destination.host
    }
  }
#endif
