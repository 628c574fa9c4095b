import Basics
import ChildProcesses
import ControlAPI
import LaunchContract
import Foundation
import HTTPMessages
import HTTPServer

#if os(Linux)
  import Glibc
  import Interception
#endif

/// The listener of the control API for programs on other machines, by TLS. It has a server of its own, so that they can't
/// block programs on this machine.
final class RemoteListener: Sendable {
  /// How to reach it.
  let address: RemoteAddress

  #if os(Linux)
    private let server: HTTPServer
    private let identity: ServerIdentity
    /// The listening socket until ``open(_:_:)``.
    private let socket: Guarded<Int32?>
    private let interceptor = Guarded<Interceptor?>(nil)
    private let log: Log
  #endif

  /// Binds the port, or returns nil if the daemon serves this machine only. Clients that connect wait until ``open(_:_:)``.
  ///
  /// - Parameters:
  ///   - configuration: the daemon's settings.
  ///   - files: the self-signed certificate, which is made if there is none.
  ///   - log: receives events.
  /// - Throws: ``CodedError`` if the settings contradict each other, the certificate can't be used, or the port is taken.
  init?(_ configuration: DaemonConfiguration, files: ControlFiles, log: Log) throws {
    try configuration.checkReach()
    guard let listen = configuration.listen, let host = configuration.remoteHost else { return nil }
    #if os(Linux)
      var settings = HTTPServer.Configuration()
      settings.maximumConnections = OpenFiles.controlConnections
      settings.bodyLimit = configuration.limits.bodyBytes
      let certificate = configuration.tlsCertificate ?? files.certificate
      identity =
        if let path = configuration.tlsCertificate, let key = configuration.tlsKey {
          try Self.identity(certificate: path, key: key)
        } else {
          try Self.ownIdentity(files, hosts: Array(Set([host, listen.host]).subtracting(["0.0.0.0"])).sorted(), log)
        }
      let bound = try HTTPServer.socket(on: listen.host, port: listen.port == 0 ? nil : listen.port)
      socket = Guarded(bound.descriptor)
      do { server = try HTTPServer(settings) } catch {
        Glibc.close(bound.descriptor)
        throw error
      }
      self.log = log
      address = RemoteAddress(
        url: "https://\(host):\(bound.port)", fingerprint: identity.fingerprint, certificate: certificate)
    #else
      throw CodedError(.usage, "listen: a daemon on this platform cannot serve other machines; leave it out")
    #endif
  }

  /// Starts serving.
  ///
  /// - Throws: ``CodedError`` if the system is out of threads.
  func open(_ control: ControlServer, _ access: RemoteAccess) throws {
    #if os(Linux)
      guard let socket = socket.withLock({ $0.take() }) else { return }
      var configuration = Interceptor.Configuration()
      configuration.identity = identity
      configuration.silence = .seconds(20)
      do {
        let interceptor = try Interceptor(
          server: server, authority: nil, delegate: RemoteConnections(control: control, access: access, log: log),
          configuration: configuration)
        self.interceptor.withLock { $0 = interceptor }
        try interceptor.start(listener: socket) { descriptor in
          // The destination is always the control API; its handler needs the client's address.
          Destination(address: Destination(peerAddressOf: descriptor).address, port: 443)
        }
      } catch {
        if interceptor.withLock({ $0 == nil }) { Glibc.close(socket) }
        throw error
      }
    #endif
  }

  /// Completes running requests, then closes all connections.
  func close(grace: Duration = .seconds(5)) async {
    #if os(Linux)
      if let socket = socket.withLock({ $0.take() }) { Glibc.close(socket) }
      await interceptor.withLock { $0.take() }?.stop()
      await server.stop(grace: grace)
    #endif
  }

  #if os(Linux)
    private static func identity(certificate: String, key: String) throws(CodedError) -> ServerIdentity {
      func read(_ path: String) throws(CodedError) -> [UInt8] {
        do { return Array(try InputFile(path).read(atMost: 1 << 20)) } catch {
          throw CodedError(.broken, "\(path): cannot be read: \(error); choose another file")
        }
      }
      let (chain, secret) = (try read(certificate), try read(key))
      do { return try ServerIdentity(certificates: chain, key: secret) } catch {
        throw CodedError(
          .broken,
          "\(certificate) and \(key): \(error.message); give PEM files of a certificate and its key without a password")
      }
    }

    /// Returns the self-signed certificate of the state folder. If it lacks a host or has expired, a new one is made with
    /// the same key, so that its fingerprint stays the same.
    private static func ownIdentity(_ files: ControlFiles, hosts: [String], _ log: Log) throws -> ServerIdentity {
      var key: [UInt8]?
      if FileManager.default.fileExists(atPath: files.certificateKey) {
        key = Array(try InputFile(files.certificateKey).read(atMost: 1 << 20))
        if FileManager.default.fileExists(atPath: files.certificate) {
          let identity = try identity(certificate: files.certificate, key: files.certificateKey)
          if try hosts.allSatisfy({ try identity.isValid(for: $0, at: Date()) }) { return identity }
        }
      }
      let made = try ServerIdentity.make(for: hosts, now: Date(), key: key)
      try files.write(Data(made.key), to: files.certificateKey)
      try files.write(Data(made.certificate), to: files.certificate)
      log.notice("certificate made", ["file": "\(files.certificate)", "hosts": "\(hosts.joined(separator: " "))"])
      return try ServerIdentity(certificates: made.certificate, key: made.key)
    }
  #endif
}

#if os(Linux)
  /// Serves the control API on each TLS connection.
  private struct RemoteConnections: InterceptionDelegate {
    let control: ControlServer
    let access: RemoteAccess
    let log: Log

    func handler(for destination: Destination) -> any RequestHandler {
      destination.isTLS ? control.handler(.remote(access, peer: destination.address)) : PlainRefusal()
    }

    func refusesSilentClient(for destination: Destination) -> Bool { true }

    func noticed(_ event: InterceptionEvent) { log.debug("connection of another machine", ["event": "\(event)"]) }
  }

  /// Refuses requests without TLS.
  private struct PlainRefusal: RequestHandler {
    func respond(to request: Request) async throws -> Response {
      DaemonError(
        400, "TLS required", "this port accepts only TLS; use https://, and revoke a token that was sent without it"
      )
      .response
    }
  }
#endif
