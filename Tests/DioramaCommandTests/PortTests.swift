import Foundation
import TestSupport
import Testing

@Suite("Ports of diorama run", .timeLimit(.minutes(5)))
struct PortTests {
  private func run(_ options: [String], _ script: String) async throws -> [String] {
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock"] + options + ["--"] + Program.python + ["-c", script])
    #expect(outcome.status == 0, "\(outcome.words)")
    return outcome.text.split(separator: "\n").map(String.init)
  }

  @Test("a leased port refuses a plain bind, but not a server with SO_REUSEADDR, such as Python's")
  func leased() async throws {
    let lines = try await run(
      ["--port", "web-app", "--port", "debug"],
      """
      import errno, http.server, os, socket, threading, http.client
      port = int(os.environ["DIORAMA_PORT_WEB_APP"])
      print(port != int(os.environ["DIORAMA_PORT_DEBUG"]))
      for address in ("127.0.0.1", "0.0.0.0"):
          plain = socket.socket()
          try:
              plain.bind((address, port))
              print("bound")
          except OSError as error:
              print(errno.errorcode[error.errno])
      server = http.server.HTTPServer(("127.0.0.1", port), http.server.BaseHTTPRequestHandler)
      threading.Thread(target=server.serve_forever, daemon=True).start()
      connection = http.client.HTTPConnection("127.0.0.1", port)
      connection.request("GET", "/")
      print(connection.getresponse().status)
      """)
    #expect(lines == ["True", "EADDRINUSE", "EADDRINUSE", "501"])
  }

  @Test("a listening socket is passed by LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES")
  func listening() async throws {
    let lines = try await run(
      ["--port", "first", "--listen", "web", "--listen", "admin-api"],
      """
      import os, socket
      print(os.environ["LISTEN_FDS"], os.environ["LISTEN_FDNAMES"], int(os.environ["LISTEN_PID"]) == os.getpid())
      for number, name in enumerate(os.environ["LISTEN_FDNAMES"].split(":")):
          listener = socket.socket(fileno=3 + number)
          port = int(os.environ["DIORAMA_PORT_" + name.upper().replace("-", "_")])
          print(listener.getsockname() == ("127.0.0.1", port), listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
          client = socket.create_connection(("127.0.0.1", port))
          server, _ = listener.accept()
          client.sendall(b"hello")
          print(server.recv(5).decode())
      """)
    #expect(lines == ["2 web:admin-api True", "True 1", "hello", "True 1", "hello"])
  }

  @Test("listening sockets are passed in order even if the caller uses descriptor 4")
  func taken() async throws {
    let outcome = try await onThread {
      let folder = try Folder()
      try folder.write("", to: "extra")
      let extra = open(folder.file("extra"), O_RDWR | O_CLOEXEC)
      defer { close(extra) }
      return try Diorama.start(
        ["run", "--mode", "mock", "--listen", "a", "--listen", "b", "--"] + Program.python
          + [
            "-c",
            """
            import os, socket
            for number, name in ((3, "A"), (4, "B")):
                print(socket.socket(fileno=number).getsockname()[1] == int(os.environ["DIORAMA_PORT_" + name]))
            """,
          ], input: .closed, extra: [(extra, 4)]
      ).finish()
    }
    #expect(outcome.text == "True\nTrue\n", "\(outcome.words)")
  }

  @Test("ports are free afterwards")
  func released() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--port", "p", "--listen", "q", "--", "sh", "-c",
      "echo $DIORAMA_PORT_P; echo $DIORAMA_PORT_Q")
    for port in outcome.text.split(separator: "\n") {
      let bound = try await onThread {
        try Child(
          (Program.python + [
            "-c", "import socket, sys; socket.socket().bind(('127.0.0.1', int(sys.argv[1])))", String(port),
          ])
          .map { Array($0.utf8) }, environment: Diorama.environment()
        ).finish()
      }
      #expect(bound.status == 0, "\(bound.words)")
    }
  }
}
