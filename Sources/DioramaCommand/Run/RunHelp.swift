import EnvironmentConfiguration

extension RunCommand {
  static let table: [Options.Option] =
    ConfigurationOptions.table + [
      .init("--listen", "NAME", "A listening socket for the command, handed over by LISTEN_FDS.", in: .basics),
      .init("--timeout", "SECONDS", "End the command after this time, and fail.", in: .basics),
      .init("--report", "FILE", "Write the report as JSON."),
      .init("--journal", "FILE", "Write every request as NDJSON."),
    ]

  static let help = """
    usage: diorama run [OPTION …] -- COMMAND [ARG …]

    Runs COMMAND in an isolated environment. It reaches its backends at the URLs in
    DIORAMA_ENDPOINT_<NAME>; requests and responses are recorded, or replayed.
    Standard input and output are the command's; Diorama writes to standard error.

      diorama run --cassette Cassettes/login --upstream api=https://api.example.com \\
        -- ./login-test
      diorama run --cassette Cassettes/login --mode replay -- ./login-test

    \(Options.describeGroups(table))
    The command's environment gets DIORAMA_CONTRACT, DIORAMA_ENDPOINT_<NAME>,
    DIORAMA_PORT_<NAME>, DIORAMA_ENVIRONMENT, DIORAMA_CONTROL, DIORAMA_TOKEN, and TZ
    where a time zone is set.

    Exit status: the command's own, or 3 if it succeeded but the environment failed
    (a request that is not recorded, a missing string). 64 usage, 65 a broken
    cassette, 66 no such cassette, 69 no upstream, 73 cannot write, 74 I/O error,
    126 and 127 as in a shell.

    """
}
