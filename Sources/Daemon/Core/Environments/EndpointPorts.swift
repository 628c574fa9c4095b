import HTTPMessages
import HTTPServer
import PortLeases

/// Where an environment's listeners come from: a port of the pool each, or those that it had before a restart.
struct EndpointPorts: Sendable {
  /// Another program may take a port between lease and bind: so many are tried.
  private static let tries = 16

  let server: HTTPServer
  let pool: PortPool

  /// A new listener on a port of the pool.
  ///
  /// - Throws: ``PortError`` when the pool has none, ``ServerError`` when none of those tried could be bound.
  func listen(for environment: String, handler: any RequestHandler) throws -> Listener {
    var failure: (any Error)?
    // Those that are taken are given back last, so that none is tried twice.
    var taken: [UInt16] = []
    defer { for port in taken { _ = try? pool.release(port) } }
    while taken.count < Self.tries {
      let leases = try pool.lease(PortRequest(count: 1, environment: environment, holds: false))
      guard let port = leases.first?.port else { break }
      do {
        let listener = try server.listen(on: port, handler: handler)
        pool.lend(port)
        return listener
      } catch {
        failure = error
        taken.append(port)
      }
    }
    throw failure
      ?? ServerError(what: "no port could be leased", where: "the pool of ports", next: "see diorama port list")
  }
}

/// The ports that an environment had before a restart, bound again, in their order: who connects waits.
final class ReservedPorts: Sendable {
  private let reserved: [ReservedListener]
  private let next = Guarded(0)

  /// - Throws: ``ServerError`` for the first port that somebody else has by now; none is held then.
  init(_ ports: [UInt16], server: HTTPServer) throws {
    reserved = try ports.map { try server.reserve($0) }
  }

  /// Serves the next of them.
  func listen(handler: any RequestHandler) throws -> Listener {
    let index = next.withLock { next in
      defer { next += 1 }
      return next
    }
    guard reserved.indices.contains(index) else {
      throw ServerError(
        what: "the environment had \(reserved.count) ports and needs more now", where: "its cassette",
        next: "provision another environment")
    }
    return try reserved[index].serve(handler: handler)
  }

  /// Gives back what is not served.
  func close() { for port in reserved { port.close() } }
}
