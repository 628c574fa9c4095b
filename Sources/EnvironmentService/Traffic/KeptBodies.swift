import Basics
import Transforms
import Cassettes
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A cache of large recorded bodies as sent to the app: rewriting megabytes of text takes many times longer than
/// sending them.
///
/// Bodies of more than 1 MiB are stored in unnamed files (``UploadStore``). When the total size exceeds ``limit``, the
/// least recently used bodies are removed.
final class KeptBodies: Sendable {
  /// The maximum total size of an environment's cached bodies in bytes.
  static let limit = 32 << 20

  /// Identifies a body and its variant. Everything else that affects a body is constant for an environment.
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

  /// The cached body, if it was made from this version of the file.
  func body(_ key: Key, of version: FileVersion) -> Body? {
    state.withLock { state in
      guard state.entries[key]?.version == version else { return nil }
      state.uses += 1
      state.entries[key]?.lastUse = state.uses
      return state.entries[key]?.body
    }
  }

  /// Caches a body of known length, unless it alone exceeds ``limit``.
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

/// A file's identity, size and modification time, to detect changes.
struct FileVersion: Equatable {
  private let numbers: [Int]

  /// Returns nil if the system cannot read the file's metadata.
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
  /// The response for an interaction whose body is in a file and is transformed on its way to the app. The body is
  /// transformed once, then cached.
  ///
  /// - Returns: the response, with a length unless it was recorded chunked; nil for any other interaction, if the body
  ///   is too large to cache, or if there is no space for it.
  /// - Throws: a ``CodedError`` if the file cannot be read.
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
      // Free the server's thread for other requests.
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

  /// Transforms and encodes a whole file; nil if there is no space for the result.
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
      // Larger buffers would make the allocator request memory from the system each time.
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
