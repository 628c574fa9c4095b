extension RunCommand {
  static let table: [Options.Option] =
    EnvironmentOptions.table + [
      .init("--port", "NAME", "a free port that the command binds itself: DIORAMA_PORT_NAME"),
      .init("--listen", "NAME", "a listening socket, handed over by LISTEN_FDS"),
      .init("--report", "FILE", "the report at the end as JSON"),
      .init("--journal", "FILE", "every request as NDJSON"),
      .init("--timeout", "SECONDS", "end the command and fail the environment"),
    ]

  static let help = """
    usage: diorama run [option …] -- COMMAND [ARG …]

    Runs COMMAND in a world of its own. It finds its backends at DIORAMA_ENDPOINT_<NAME>; what it asks them is recorded,
    or replayed. Its output is its own; what Diorama has to say goes to standard error.

    \(Options.describe(table))
    The command's environment gets DIORAMA_CONTRACT, DIORAMA_ENDPOINT_<NAME>, DIORAMA_PORT_<NAME>,
    DIORAMA_ENVIRONMENT, DIORAMA_CONTROL, DIORAMA_TOKEN, and TZ where a zone is set.

    Exit status: the command's own; 3 when it succeeded but its world did not hold (a request that is not recorded,
    a missing string); 64 usage, 65 a broken cassette, 66 no such cassette, 69 no upstream, 73 cannot write, 74 I/O,
    126 and 127 as a shell has them.

      diorama run --cassette Cassettes/login --upstream api=https://api.example.com -- ./login-test
      diorama run --cassette Cassettes/login --mode replay -- ./login-test

    """
}
