import Glibc

/// Serves ``EchoHandler`` by HTTP/2 with prior knowledge, until it is killed.
@main struct Echo {
  static func main() throws {
    let server = try PlainServer(
      EchoHandler(), port: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0)
    print("listening on http://127.0.0.1:\(server.port)")
    fflush(nil)
    while true { pause() }
  }
}
