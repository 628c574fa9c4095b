import Glibc
import HTTPServer

/// Serves ``EchoHandler`` until it is killed.
@main struct Echo {
  static func main() throws {
    let server = try HTTPServer()
    let listener = try server.listen(
      on: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) }, handler: EchoHandler())
    print("listening on http://127.0.0.1:\(listener.port)")
    fflush(nil)
    while true { pause() }
  }
}
