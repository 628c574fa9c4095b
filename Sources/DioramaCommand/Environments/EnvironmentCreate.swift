import Basics
import ChildProcesses
import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages

/// `diorama env create`: makes an environment in the daemon.
enum EnvironmentCreate {
  private static let name = "env create"

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let forms = ["--shell", "--github", "--json"].filter(options.has)
    if forms.count > 1 { throw CodedError(usage: "\(forms[0]) and \(forms[1]) cannot be combined", command: name) }
    if options.has("--proxy"), !options.has("--shell"), !options.has("--github") {
      throw CodedError(usage: "--proxy requires --shell or --github", command: name)
    }
    let variables = ProcessInfo.processInfo.environment
    let workflow = try options.has("--github") ? GitHubWorkflow(variables) : nil
    let access = DaemonAccess(options)
    let request = try request(options, isRemote: try access.remote != nil, variables: variables)
    let environment = try terminal.progress("opening \(request.cassette ?? "the environment")") {
      () throws(DaemonClientError) in
      try access.ask(starting: true) { client throws(DaemonClientError) in try await client.provision(request) }
    }
    for note in environment.notes { terminal.line(note) }
    Output.outliveReaders()
    do {
      let origins = request.configuration.upstreams.values.compactMap { $0.url.flatMap { try? Origin(parsing: $0) } }
      let exports = exports(environment, isProxy: options.has("--proxy"), origins: origins, variables: variables)
      if options.has("--shell") {
        let lines = exports.compactMap { ShellWord.export($0.key, $0.value).map { $0 + "\n" } }
        try Output.write(raw: lines.joined())
      } else if let workflow {
        // Before the values, so that a log never shows the token.
        try Output.write(raw: exports.filter { $0.key == "DIORAMA_TOKEN" }.map { "::add-mask::\($0.value)\n" }.joined())
        try workflow.set(exports)
        try Output.write(lines: [environment.id])
      } else if options.has("--json") {
        try Output.write(json: environment)
      } else {
        try Output.write(lines: [environment.id])
      }
    } catch {
      // Its id was not printed, so nothing else can delete it.
      _ = try? access.ask { client throws(DaemonClientError) in
        try await client.end(environment.id, as: Report.self)
      }
      throw error
    }
    return 0
  }

  private static func request(
    _ options: Options, isRemote: Bool, variables: [String: String]
  ) throws -> ProvisioningRequest {
    let settings = ConfigurationOptions(options, command: name, variables: variables)
    _ = try options.names("--port", command: name)
    let owner = try OwnerOptions(options, isRemote: isRemote, command: name)
    var configuration = try settings.configuration()
    configuration.name =
      options.value("--name") ?? configuration.name ?? (configuration.cassette == nil ? "environment" : nil)
    // Checked here, so that errors use the command's terms.
    let specification = try settings.specification(configuration)
    try ConfigurationOptions.checkIsolation(options, specification.isolation, command: name)
    var request = ProvisioningRequest(configuration, isContinuousIntegration: settings.isContinuousIntegration)
    request.owner = owner.owner
    request.ttlSeconds = owner.seconds
    if options.has("--github"), !options.has("--owner") {
      // A step's shell exits before the steps that use the environment.
      request.owner = nil
      request.ttlSeconds = owner.seconds ?? GitHubWorkflow.longestJob
    }
    return request
  }

  /// All variables that a program in the environment needs.
  private static func exports(
    _ environment: ProvisionedEnvironment, isProxy: Bool, origins: [Origin], variables: [String: String]
  ) -> [(key: String, value: String)] {
    var exports = environment.contract?.environment ?? [:]
    exports.merge(ConfigurationOptions.proxyVariables(exports["DIORAMA_PROXY"], isProxy, origins, variables)) { $1 }
    return exports.sorted { $0.key < $1.key }
  }

  private static let table: [Options.Option] =
    ConfigurationOptions.table + [
      .init("--name", "TEXT", "The name in reports (default: the cassette's).", in: .basics),
      .init(
        "--settings", "FILE",
        "Settings as JSON, as in a project file but with name and cassette; - is standard input. In a list, later ones "
          + "take precedence.", in: .basics),
    ]
    + OwnerOptions.table + [
      .init("--shell", nil, "Print export lines for eval."),
      .init("--github", nil, "Set the variables for the later steps of a GitHub Actions job."),
      .init("--json", nil, "Print the whole answer as JSON."),
      DaemonAccess.option,
    ]

  static let command = Command(
    name, "create an environment; with --shell, print exports for a shell", usage: ["env create [option …]"],
    about: """
      Creates an environment in the daemon and prints its id. The environment ends
      with diorama env delete, with its owner, or after its time to live. The default
      owner is the process that called this command, such as the shell that runs a
      script. If that process exits too early (timeout, xargs, one of several CI
      steps), pass --owner PID (in a script --owner $$) or --ttl SECONDS. Starts a
      daemon if none is running.
      """, options: table,
    notes: """
      With --shell, the calling shell and its children use the environment:

        eval "$(diorama env create --shell --cassette Cassettes/login \\
          --upstream api=https://api.example.com)"
        if ./login-test; then diorama env delete; else diorama env delete --failed; fi

      Only env delete without --failed saves the recording as the cassette.
      Otherwise, it is kept beside the cassette as NAME.failed.har.
      """, run: run)
}

/// The job of GitHub Actions that runs this command in one of its steps.
struct GitHubWorkflow {
  /// Seconds that a job can take at most on GitHub's own machines.
  static let longestJob = 21_600.0

  /// The file whose lines become variables of the later steps.
  private let path: String

  /// - Throws: ``CodedError`` outside of a job.
  init(_ variables: [String: String]) throws(CodedError) {
    guard let path = variables["GITHUB_ENV"], !path.isEmpty else {
      throw CodedError(
        usage: "--github: GITHUB_ENV is not set, so this is not a step of GitHub Actions; use --shell elsewhere",
        command: "env create")
    }
    self.path = path
  }

  /// Sets variables for the later steps.
  ///
  /// - Throws: `CodedError` if the file cannot be written.
  func set(_ variables: [(key: String, value: String)]) throws(CodedError) {
    // A value of several lines ends at a delimiter that it cannot contain:
    // https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands#multiline-strings
    let lines = variables.map { name, value in
      guard value.contains(where: \.isNewline) else { return "\(name)=\(value)\n" }
      let delimiter = "diorama-\(UUID().uuidString)"
      return "\(name)<<\(delimiter)\n\(value)\n\(delimiter)\n"
    }
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
    do {
      try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(lines.joined().utf8))
    } catch {
      throw failure(error.systemReason)
    }
  }

  private func failure(_ reason: String) -> CodedError {
    CodedError(.cannotWrite, "cannot write \(path), which GITHUB_ENV names: \(reason)")
  }
}
