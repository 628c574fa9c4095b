/// Where a daemon keeps its state, and is found: by default one folder for each user.
package enum StateFolderPath {
  /// `$DIORAMA_HOME`, else `$XDG_RUNTIME_DIR/diorama`, else `~/.local/state/diorama`; a variable that is empty or not an
  /// absolute path counts as not set, but for `DIORAMA_HOME`, which is taken from the current folder.
  ///
  /// - Parameters:
  ///   - variables: the process's.
  ///   - home: the user's home folder.
  ///   - current: the current folder.
  /// - Returns: an absolute path.
  package static func resolve(variables: [String: String], home: String, current: String) -> String {
    if let path = variables["DIORAMA_HOME"], !path.isEmpty { return absolute(path, in: current) }
    if let folder = variables["XDG_RUNTIME_DIR"], folder.hasPrefix("/") { return absolute("diorama", in: folder) }
    return absolute(".local/state/diorama", in: home)
  }

  /// A path as it is meant in a folder, without closing slashes.
  package static func absolute(_ path: String, in folder: String) -> String {
    var whole = path.hasPrefix("/") ? path : (folder.hasSuffix("/") ? folder : folder + "/") + path
    while whole.count > 1, whole.hasSuffix("/") { whole.removeLast() }
    return whole
  }
}
