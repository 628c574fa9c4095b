import Basics
import Cassettes
import LaunchContract

extension Cassette {
  /// Sets the lengths of bodies in files, which some tools leave out.
  ///
  /// - Parameter location: the cassette's location.
  /// - Returns: the paths of these files.
  /// - Throws: a ``CodedError`` for a file that is missing or not as long as recorded, so that it fails now and
  ///   not in the middle of a test.
  mutating func measureBodies(in location: CassetteLocation) throws(CodedError) -> Set<String> {
    var paths = Set<String>()
    for index in interactions.indices {
      if let (path, length) = try Self.file(of: interactions[index].request.body, in: location) {
        paths.insert(path)
        interactions[index].request.body.setLength(length)
      }
      if let (path, length) = try Self.file(of: interactions[index].response.body, in: location) {
        paths.insert(path)
        interactions[index].response.body.setLength(length)
      }
    }
    return paths
  }

  /// The file of a body and its length; nil for a body that is not in a file.
  private static func file(
    of body: RecordedBody, in location: CassetteLocation
  ) throws(CodedError) -> (path: String, length: Int)? {
    guard case .file(let name, let length) = body else { return nil }
    let path = "\(location.folder)/\(name)"
    let file = try location.openBody(name)
    guard length == 0 || file.size == length else {
      throw CodedError(
        .broken, "\(path) has \(file.size) bytes, but \(length) were recorded; restore it or re-record the cassette")
    }
    return (path, file.size)
  }
}

extension RecordedBody {
  fileprivate mutating func setLength(_ length: Int) {
    if case .file(let name, _) = self { self = .file(name: name, length: length) }
  }
}
