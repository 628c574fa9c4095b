import EnvironmentConfiguration

extension RunCommand {
  static let table: [Options.Option] =
    ConfigurationOptions.table + [
      .init("--listen", "NAME", "A listening socket, passed by LISTEN_FDS.", in: .basics),
      .init("--timeout", "SECONDS", "End the command after this time and fail the environment.", in: .basics),
      .init("--journal", "FILE", "Write every request as NDJSON."),
      .init("--journal-requests", nil, "Also write their header fields and bodies, redacted."),
    ] + ReportFiles.table + [.init("--quiet", nil, "Print no report, only errors.")]

  static let command = Command(
    RunOptions.command, "run a command in an environment of its own", usage: ["run [option …] -- COMMAND [ARG …]"],
    about: """
      Runs COMMAND in an environment of its own. The command finds its backends at
      DIORAMA_ENDPOINT_<NAME>, or in its own variables with --env. Its requests are
      recorded or replayed. Diorama writes its own messages and the report to standard
      error.

        diorama run --cassette Cassettes/login \\
          --upstream api=https://api.example.com -- ./login-test
        diorama run --cassette Cassettes/login --mode replay -- ./login-test
      """, options: table,
    notes: """
      The command's environment gets DIORAMA_CONTRACT, DIORAMA_ENDPOINT_<NAME>,
      DIORAMA_PORT_<NAME>, DIORAMA_MAIN and DIORAMA_PROXY (one port for all upstreams:
      /<NAME>/path, or as an HTTP proxy), DIORAMA_ENVIRONMENT, DIORAMA_CONTROL,
      DIORAMA_TOKEN, and TZ if a time zone is set.

      Exit status: the command's own, or 3 if the command succeeded but its
      environment failed (an unrecorded request, a missing string); 64 usage, 65
      broken cassette, 66 no such cassette, 69 no upstream, 73 cannot write, 74 I/O;
      126 and 127 as in a shell.
      """, operands: .commandLine, run: run)
}
