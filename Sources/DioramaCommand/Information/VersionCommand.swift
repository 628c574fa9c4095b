import CBuild

/// What was built.
enum Build {
  static let version = "0.1.0"
  /// The day of the version, for the manual page.
  static let date = "2026-11-25"
  /// The commit; `unknown` unless `make install` built the command.
  static let commit = String(cString: diorama_build_commit())
}

/// `diorama version`: prints the version and commit.
enum VersionCommand {
  static let command = Command(
    "version", "print the version and commit", usage: ["version"],
    about: """
      Prints the version, and the commit from which make install built the command.
      In other builds, the commit is unknown.
      """
  ) { _, _ in
    try Output.write(lines: ["diorama \(Build.version) (commit \(Build.commit))"])
    return 0
  }
}
