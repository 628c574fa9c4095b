import Basics
import ControlAPI
import DaemonClient
import LaunchContract

/// `diorama token`: tokens of programs on other machines.
enum TokenCommand {
  static let command = Command(
    "token", "manage tokens of programs on other machines", usage: ["token SUBCOMMAND …"],
    about: """
      Programs on other machines need a token to use a daemon that runs with
      diorama serve --listen. Tokens are managed on the daemon's machine.
      """, subcommands: [TokenCreate.command, TokenTable.command, TokenRevoke.command])

  /// The name that the arguments give.
  fileprivate static func name(_ options: Options, command: String) throws(CodedError) -> String {
    let words = options.operands + (options.rest ?? [])
    guard words.count == 1, !words[0].isEmpty else {
      throw CodedError(
        usage: words.count > 1 ? "unexpected argument '\(words[1])'" : "no name; give the name of the token",
        command: command)
    }
    return words[0]
  }
}

/// `diorama token create`: creates a token and prints it.
enum TokenCreate {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let name = try TokenCommand.name(options, command: "token create")
    let created = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in
      try await client.createToken(name)
    }
    if options.has("--json") {
      try Output.write(json: created)
      return 0
    }
    if let remote = created.remote {
      terminal.line("DIORAMA_DAEMON=\(remote.url)")
      terminal.line("DIORAMA_DAEMON_FINGERPRINT=\(remote.fingerprint)")
    } else {
      terminal.line(
        "the daemon does not serve other machines yet; restart it with: diorama serve --listen ADDRESS:PORT")
    }
    try Output.write(lines: [created.token.revealed])
    return 0
  }

  static let command = Command(
    "token create", "create a token and print it", usage: ["token create [--json] NAME"],
    about: """
      Creates a token for a program on another machine, and prints it to standard
      output. It cannot be shown again: the daemon keeps only its digest. What else
      the program needs, the daemon's URL and fingerprint, goes to standard error.
      """, options: [.init("--json", nil, "print JSON"), DaemonAccess.option],
    notes: """
      Exit status: 64 usage; 69 no daemon, or the name is taken.

        diorama token create ci-1 >ci-1.token
      """, operands: .words, run: run)
}

/// `diorama token list`: lists tokens without the tokens themselves.
enum TokenTable {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let tokens = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in try await client.tokens() }
    if options.has("--json") {
      try Output.write(json: TokenList(tokens: tokens))
    } else {
      try Output.write(
        Table(
          header: ["name", "created", "last used"],
          rows: tokens.map { [$0.name, $0.createdAt, $0.lastUsedAt ?? "never"] },
          rightAligned: []
        ), orIfEmpty: "no tokens")
    }
    return 0
  }

  static let command = Command(
    "token list", "list tokens", usage: ["token list [--json]"],
    about: "Lists the names of tokens, and when they were created and last used.",
    options: [.init("--json", nil, "print JSON"), DaemonAccess.option], run: run)
}

/// `diorama token revoke`: revokes a token.
enum TokenRevoke {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let name = try TokenCommand.name(options, command: "token revoke")
    try DaemonAccess(local: options).ask { client throws(DaemonClientError) in try await client.revokeToken(name) }
    return 0
  }

  static let command = Command(
    "token revoke", "revoke a token", usage: ["token revoke NAME"],
    about: """
      Revokes a token at once, and ends the environments and leases made with it.
      Their recordings do not become cassettes.
      """, options: [DaemonAccess.option], notes: "Exit status: 66 there is no such token; 69 no daemon.",
    operands: .words, run: run)
}
