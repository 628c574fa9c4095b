/// The folder where a daemon keeps its state and where clients find it. By default, each user has one.
package enum StateFolderPath {
  /// Returns `$DIORAMA_HOME`, else `$XDG_RUNTIME_DIR/diorama`, else `~/.local/state/diorama`.
  ///
  /// An empty variable counts as not set, and so does an `XDG_RUNTIME_DIR` that is not an absolute path. `DIORAMA_HOME`
  /// may be relative to the current folder.
  ///
  /// - Parameters:
  ///   - variables: the process's environment variables.
  ///   - home: the user's home folder.
  ///   - current: the current folder.
  /// - Returns: an absolute path.
  package static func resolve(variables: [String: String], home: String, current: String) -> String {
    if let path = variables["DIORAMA_HOME"], !path.isEmpty { return absolute(path, in: current) }
    if let folder = variables["XDG_RUNTIME_DIR"], folder.hasPrefix("/") { return absolute("diorama", in: folder) }
    return absolute(".local/state/diorama", in: home)
  }

  /// Resolves a path against a folder, and removes trailing slashes.
  package static func absolute(_ path: String, in folder: String) -> String {
    var whole = path.hasPrefix("/") ? path : (folder.hasSuffix("/") ? folder : folder + "/") + path
    while whole.count > 1, whole.hasSuffix("/") { whole.removeLast() }
    return whole
  }
}
