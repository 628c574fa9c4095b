import Basics
import Transforms
import Cassettes
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Large recorded bodies as the app gets them, kept for the next request: to rewrite megabytes of text takes many times
/// longer than to send them.
///
/// A body of more than a mebibyte is kept in a file without a name (``UploadStore``). All of them together are limited to
/// ``limit``; the one that was not asked for longest goes first.
final class KeptBodies: Sendable {
  /// The most bytes of one environment's bodies.
  static let limit = 32 << 20

  /// Which body, and how it was changed. What else changes it is the same as long as the environment lives.
  struct Key: Hashable {
    let index: Int
    let form: AddressMap.Form
    let isCoded: Bool
  }

  private struct Entry {
    let body: Body
    let version: FileVersion
    let length: Int
    var lastUse: Int
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var length = 0
    var uses = 0
  }

  private let state = Guarded(State())

  /// A body that was made of this version of a file.
  func body(_ key: Key, of version: FileVersion) -> Body? {
    state.withLock { state in
      guard state.entries[key]?.version == version else { return nil }
      state.uses += 1
      state.entries[key]?.lastUse = state.uses
      return state.entries[key]?.body
    }
  }

  /// Keeps a body of known length, unless it is larger than all that is kept.
  func keep(_ body: Body, _ key: Key, of version: FileVersion) {
    guard let length = body.length, length <= Self.limit else { return }
    state.withLock { state in
      state.length -= state.entries.removeValue(forKey: key)?.length ?? 0
      while state.length + length > Self.limit,
        let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
      {
        state.entries[oldest.key] = nil
        state.length -= oldest.value.length
      }
      state.uses += 1
      state.entries[key] = Entry(body: body, version: version, length: length, lastUse: state.uses)
      state.length += length
    }
  }
}

/// Tells whether a file is still the same as before, as make(1) would.
struct FileVersion: Equatable {
  private let numbers: [Int]

  /// Nil where the system does not say.
  init?(of file: FileBody) {
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    numbers = [
      Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size), time.tv_sec,
      time.tv_nsec,
    ]
  }
}

extension Environment {
  /// The response for an interaction whose body lies in a file and is changed on its way to the app, with its length where it
  /// was recorded with one: changed once, and kept.
  ///
  /// - Returns: nil for any other, for one that is too large to be kept, and where there is no room for it.
  /// - Throws: a ``CodedError`` where the file cannot be read.
  func kept(_ index: Int, form: AddressMap.Form, isCoded: Bool) async throws -> Response? {
    guard let replay, !replay.interactions[index].response.isStreamed, replay.interactions[index].webSocket == nil,
      case .file(let name, let length) = replay.interactions[index].response.body, length <= KeptBodies.limit
    else { return nil }
    let transform = try replay.transform(of: index, addresses: addresses, form: form, isCoded: false)
    let codings = isCoded ? replay.codings(of: index) : nil
    guard !transform.isIdentity || codings != nil else { return nil }
    let file = try CassetteReader.file(name, length: length, in: replay.location)
    guard file.length <= KeptBodies.limit, let version = FileVersion(of: file) else { return nil }
    let key = KeptBodies.Key(index: index, form: form, isCoded: isCoded)
    var body = keptBodies.body(key, of: version)
    if body == nil {
      // The server's thread has others to serve.
      body = try await Task { try Self.changed(file, by: transform, codings) }.value
      guard let body else { return nil }
      keptBodies.keep(body, key, of: version)
    }
    guard let body else { return nil }
    let recorded = replay.interactions[index].response
    return Response(
      status: recorded.status, reason: recorded.reason,
      headers: replay.headers(of: index, addresses: addresses, form: form, isCoded: isCoded),
      body: recorded.isChunked ? .stream(Self.pipe(of: body), length: nil) : body,
      trailers: replay.trailers(of: index, addresses: addresses, form: form))
  }

  /// The whole of a file, changed and coded; nil where there is no room for it.
  private static func changed(
    _ file: FileBody, by transform: BodyTransform, _ codings: ContentCodings?
  ) throws -> Body? {
    var transform = transform
    var uncoded: [UInt8] = []
    let store = UploadStore()
    func add(_ bytes: [UInt8]) -> Bool {
      guard codings == nil else {
        uncoded += bytes
        return true
      }
      return (try? store.append(bytes)) != nil
    }
    var offset = 0
    while offset < file.length {
      // Below the size from which the allocator asks the system for memory each time.
      let piece = try file.read(at: offset, upTo: 65_536)
      offset += piece.count
      guard add(try transform.push(piece)) else { return nil }
    }
    guard add(try transform.finish()) else { return nil }
    if let codings {
      do { try store.append(try codings.encode(uncoded)) } catch is Problem { return nil }
    }
    return store.finish()
  }

  private static func pipe(of body: Body) -> BytePipe {
    switch body {
    case .bytes(let bytes): return BytePipe(holding: bytes)
    case .stream(let pipe, _): return pipe
    case .file(let file):
      let pipe = BytePipe(capacity: FileBody.pieceSize)
      Task {
        do {
          var offset = 0
          while offset < file.length {
            let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
            offset += piece.count
            try await pipe.write(piece)
          }
          pipe.finish()
        } catch {
          pipe.fail(error)
        }
      }
      return pipe
    }
  }
}
