extension RunCommand {
  static let table: [Options.Option] = [
    .init("--cassette", "PATH", "the recording, without ending: PATH.har and PATH.strings.json"),
    .init(
      "--mode", "M",
      """
      proxy    forward and log
      record   forward and rewrite the cassette
      extend   replay, record what is missing
      replay   never reach the network
      once     replay if the cassette exists, else record (default);
               where CI is set it never records
      mock     stubs only
      """),
    .init("--upstream", "NAME=URL", "a backend, repeatable; in replay the cassette's own if none is given"),
    .init("--seed", "TEXT", "seed of the random strings; in replay the recorded one"),
    .init(
      "--clock", "KIND",
      "system, frozen, ticking, scaled:RATE or manual\n(default: system in proxy, else frozen)"),
    .init("--start", "INSTANT", "RFC 3339; default the recording date in replay and extend, else now"),
    .init("--time-zone", "ID", "such as Europe/London; default as recorded, else the machine's"),
    .init("--locale", "ID", "such as en_GB; default as recorded, else the machine's"),
    .init("--toggle", "NAME=VALUE", "a switch for the app, repeatable; JSON, a bare word is a string"),
    .init("--default", "KEY=VALUE", "a user default for the app, likewise"),
    .init("--value", "KEY=VALUE", "a value of the app's own, likewise"),
    .init("--credential", "S/A=SOURCE", "for the app's in-memory store: SERVICE/ACCOUNT=env:VAR or =file:PATH"),
    .init("--port", "NAME", "a free port that the command binds itself: DIORAMA_PORT_NAME"),
    .init("--listen", "NAME", "a listening socket, handed over by LISTEN_FDS"),
    .init("--play-uniquely", nil, "each interaction plays once; else the last of equal ones repeats"),
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
