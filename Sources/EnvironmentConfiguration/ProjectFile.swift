package import Basics
package import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `diorama.json`: the settings of all environments of a project, and of some cassettes.
///
/// ```json
/// {"cassettes": "Cassettes", "upstreams": {"api": {"url": "https://api.example.com", "variable": "API_URL"}},
///  "overrides": [{"cassettes": "booking/*", "matching": {"order": "strict"}}]}
/// ```
package struct ProjectFile: Sendable, Equatable {
  package static let name = "diorama.json"

  /// Settings for the cassettes that a pattern matches.
  package struct Override: Sendable, Equatable {
    /// `*` matches within a segment of the path, `**` anything; the path starts at ``ProjectFile/cassettes``.
    package let pattern: String
    package let settings: EnvironmentConfiguration
  }

  /// The file's own path.
  package let path: String
  /// The absolute path of the folder of cassettes, if the file names one.
  package let cassettes: String?
  /// The settings of all environments.
  package let settings: EnvironmentConfiguration
  package let overrides: [Override]

  /// The folder at which relative paths start.
  package var folder: String { (path as NSString).deletingLastPathComponent }

  private static let ownMembers: [ObjectRule.Member] = [
    .optional("$schema", .line(0...4096), "The JSON Schema, for editors."),
    .optional("cassettes", .text(.path, 1...4096), "The folder of cassettes, from this file's folder."),
  ]

  /// The settings that several environments can share.
  private static let shared = EnvironmentConfiguration.members.filter { !["name", "cassette"].contains($0.name) }

  /// The schema of the file.
  package static let schema = Schema.record(
    "Settings of a project's environments. Options of the command, and what a test says itself, take precedence.",
    ownMembers + shared + [
      .optional(
        "overrides",
        .array(
          of: .record(
            "Settings for some cassettes, in addition to the general ones. Named things are combined by name, lists and "
              + "rules are added, any other setting replaces the general one.",
            [
              .required(
                "cassettes", .line(1...4096),
                "Which cassettes: * matches within a segment of the path, ** matches anything.")
            ] + shared), atMost: 1000), "Settings for some cassettes; later ones take precedence.")
    ]
  ).accepting(.caller)

  /// The file in a folder or the nearest one above it, up to the root of the repository; nil if there is none.
  ///
  /// Outside of a repository only the folder's own file counts: one above may be another user's, as in `/tmp`.
  package static func nearest(to folder: String) -> String? {
    let start = URL(fileURLWithPath: folder).standardizedFileURL.path
    var folder = start
    var found: String?
    while true {
      let path = (folder as NSString).appendingPathComponent(name)
      if found == nil, FileManager.default.fileExists(atPath: path) { found = path }
      if found != nil, folder == start { return found }
      if FileManager.default.fileExists(atPath: (folder as NSString).appendingPathComponent(".git")) { return found }
      let parent = (folder as NSString).deletingLastPathComponent
      guard parent != folder, !parent.isEmpty else { return nil }
      folder = parent
    }
  }

  /// Reads a project file.
  ///
  /// - Parameters:
  ///   - data: its content.
  ///   - path: its absolute path.
  /// - Throws: a `CodedError` in one line that names the file, the place of the mistake, and what is allowed there.
  package init(decoding data: Data, path: String) throws(CodedError) {
    do throws(CodedError) {
      let json = try CodedError.translating(at: "not JSON", try JSON.parse([UInt8](data)))
      if let problem = Self.schema.problem(with: json) { throw CodedError(.broken, problem) }
      let content = try JSON.decode(Content.self, from: data, source: "")
      try content.settings.checkRelations()
      for (index, override) in content.overrides.enumerated() {
        do { try override.settings.checkRelations() } catch {
          throw CodedError(.broken, "overrides[\(index)].\(error.problem)")
        }
      }
      let folder = (path as NSString).deletingLastPathComponent
      self.path = path
      cassettes = content.cassettes.map { Self.absolute($0, in: folder) }
      let name = (path as NSString).lastPathComponent
      settings = content.settings.absolute(in: folder).naming(rulesOf: name, isShared: true)
      overrides = content.overrides.map {
        let pattern = $0.cassettes ?? ""
        return Override(
          pattern: pattern, settings: $0.settings.absolute(in: folder).naming(rulesOf: "\(name), for \(pattern)"))
      }
    } catch {
      throw CodedError(.broken, "\(path): \(error.problem)")
    }
  }

  /// Completes what a test or a command asks for.
  ///
  /// - Parameter own: what was asked for, with the mode and the absolute path of the cassette.
  /// - Returns: the same, with the file's settings for that cassette where it has none of its own.
  package func completing(_ own: EnvironmentConfiguration) -> EnvironmentConfiguration {
    var project = settings(for: own.cassette)
    // A recording must not have moved dates.
    if own.mode ?? project.mode == "extend" { project.dates = nil }
    var all = own.inside(project)
    // The file only says where dates are. The clock decides whether they move.
    if own.dates == nil, all.dates != nil, all.clock?.kind == nil, all.mode != "proxy" {
      all.clock = all.clock ?? .init()
      all.clock?.kind = "frozen"
    }
    return all
  }

  /// The settings for a cassette: the general ones, and the overrides that match it.
  ///
  /// - Parameter cassette: its absolute path without extension; nil for none.
  /// - Returns: the settings, with absolute paths.
  package func settings(for cassette: String?) -> EnvironmentConfiguration {
    guard let cassette else { return settings }
    let root = (cassettes ?? folder) + "/"
    let name = cassette.hasPrefix(root) ? String(cassette.dropFirst(root.count)) : cassette
    return overrides.filter { Self.matches($0.pattern, name) }.reduce(settings) { $1.settings.inside($0) }
  }

  private static func matches(_ pattern: String, _ name: String) -> Bool {
    fnmatch(pattern, name, pattern.contains("**") ? 0 : FNM_PATHNAME) == 0
  }

  static func absolute(_ path: String, in folder: String) -> String {
    URL(fileURLWithPath: path.hasPrefix("/") ? path : "\(folder)/\(path)").standardizedFileURL.path
  }

  /// A file, or one of its overrides.
  private struct Content: Decodable {
    var cassettes: String?
    var settings: EnvironmentConfiguration
    var overrides: [Content]

    private enum CodingKeys: String, CodingKey { case cassettes, overrides }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      cassettes = try container.decodeIfPresent(String.self, forKey: .cassettes)
      overrides = try container.decodeIfPresent([Content].self, forKey: .overrides) ?? []
      settings = try EnvironmentConfiguration(from: decoder)
    }
  }
}

extension EnvironmentConfiguration {
  /// Returns the settings with absolute paths of files and secrets.
  func absolute(in folder: String) -> Self {
    func source(_ text: String) -> String {
      text.hasPrefix("file:") ? "file:" + ProjectFile.absolute(String(text.dropFirst(5)), in: folder) : text
    }
    var settings = self
    settings.stubs = stubs.map { ProjectFile.absolute($0, in: folder) }
    settings.collections = collections.map { ProjectFile.absolute($0, in: folder) }
    settings.openapi = openapi.map { ProjectFile.absolute($0, in: folder) }
    settings.proto = proto.map { ProjectFile.absolute($0, in: folder) }
    settings.protoPaths = protoPaths.map { ProjectFile.absolute($0, in: folder) }
    for name in upstreams.keys {
      let access = upstreams[name]?.access ?? UpstreamAccess()
      settings.upstreams[name]?.access.ca = access.ca.map { ProjectFile.absolute($0, in: folder) }
      settings.upstreams[name]?.access.clientCertificate = access.clientCertificate.map {
        ProjectFile.absolute($0, in: folder)
      }
      settings.upstreams[name]?.access.clientKey = access.clientKey.map { ProjectFile.absolute($0, in: folder) }
      settings.upstreams[name]?.access.headers = access.headers?.mapValues { Secret(source($0.revealed)) }
    }
    for index in credentials.indices { settings.credentials[index].from = credentials[index].from.map(source) }
    for index in (dates?.jwt ?? []).indices { settings.dates?.jwt[index].key = dates?.jwt[index].key.map(source) }
    return settings
  }

  /// Returns the settings with rules that messages can name.
  fileprivate func naming(rulesOf file: String, isShared: Bool = false) -> Self {
    var settings = self
    for index in (matching?.rules ?? []).indices {
      settings.matching?.rules[index].source = "rule \(index + 1) of \(file)"
      settings.matching?.rules[index].isShared = isShared
    }
    return settings
  }
}

extension ProjectFile {
  /// Reads a project file.
  ///
  /// - Parameters:
  ///   - path: its absolute path.
  ///   - acceptsPipes: whether it may be a pipe. Only a file that the user names may be one.
  ///   - check: checks the rules in settings.
  /// - Returns: the file.
  /// - Throws: a ``CodedError``: `noCassette` if the file does not exist, `inputOutput` if it cannot be read, and
  ///   `broken` for invalid content, with its place and what is allowed there.
  package static func read(
    _ path: String, acceptsPipes: Bool, checking check: (EnvironmentConfiguration) throws(CodedError) -> Void
  ) throws(CodedError) -> ProjectFile {
    let data: Data
    do throws(CodedError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: InputFile.smallLimit)
    } catch {
      throw CodedError(
        error.isMissing ? .noCassette : .inputOutput,
        "cannot read the project file \(path): \(error); name another with --config, or use --no-config")
    }
    do throws(CodedError) {
      let file = try ProjectFile(decoding: data, path: path)
      for (place, settings) in [("", file.settings)]
        + file.overrides.enumerated().map({ ("overrides[\($0)].", $1.settings) })
      {
        do throws(CodedError) { try check(settings) } catch {
          throw CodedError(.broken, "\(path): \(place)\(error.message)")
        }
      }
      return file
    } catch {
      throw CodedError(.broken, error.problem)
    }
  }
}
