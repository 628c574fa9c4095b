import Foundation
package import HTTPMessages

/// Runs a test with a Python upstream behind TLS, with a new certificate for 127.0.0.1.
///
/// It responds to `GET /headers` with the request head.
///
/// - Parameters:
///   - port: a port of 127.0.0.1 with a server of HTTP/2, to which it passes everything on instead.
///   - asksForClient: whether it requires the client certificate `client.pem` in the folder, with the key `client.key`.
///   - body: receives the origin and the path of the certificate, which is its own authority. Its folder also contains it
///     under its hash, as OpenSSL requires for a folder of authorities.
/// - Throws: ``Failure`` if openssl or python3 fails; the error that `body` throws.
package func withTLSUpstream(
  relayingTo port: UInt16? = nil, asksForClient: Bool = false, _ body: (Origin, String) async throws -> Void
) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "diorama-tls-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let make = """
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
      -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null &&
    ln -s cert.pem "$(openssl x509 -hash -noout -in cert.pem).0" &&
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout client.key -out client.pem -days 2 \
      -subj /CN=us 2>/dev/null
    """
  let made = try await onThread { try start(["sh", "-c", "cd '\(folder.path)' && " + make]).finish() }
  guard made.status == 0 else { throw Failure(what: "openssl made no certificate: \(made.words)") }
  let server = try start([
    "sh", "-c", "cd '\(folder.path)' && exec python3 -c \"$1\" $2", "sh", port == nil ? serverProgram : relayProgram,
    port.map { "\($0)" } ?? (asksForClient ? "client" : ""),
  ])
  let line = try await onThread { try server.line() }
  guard let port = Int(line) else { throw Failure(what: "python3 does not serve") }
  try await body(
    Origin(scheme: "https", host: "127.0.0.1", port: port), folder.appending(path: "cert.pem").path)
  // The process ends when this value is released.
  withExtendedLifetime(server) {}
}

private func start(_ arguments: [String]) throws -> Child {
  try Child(arguments.map { Array($0.utf8) }, environment: ProcessInfo.processInfo.environment)
}

private let serverProgram = """
  import http.server, socket, ssl, sys, threading
  connections = 0
  class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      def setup(self):
          global connections
          connections += 1
          super().setup()
      def handle(self):
          try:
              super().handle()
          except ssl.SSLError:
              # A reset, which closing with unread bytes is, could overtake the alert that says why.
              rest = socket.socket(fileno=self.request.detach())
              rest.shutdown(socket.SHUT_WR)
              while rest.recv(65536): pass
              rest.close()
      def log_message(self, *arguments): pass
      def answer(self, body, length=None):
          self.send_response(200)
          self.send_header("X-Connections", str(connections))
          self.send_header("Content-Length", str(length or len(body)))
          self.end_headers()
          self.wfile.write(body)
          self.wfile.flush()
      def do_POST(self):
          self.answer(self.rfile.read(int(self.headers["Content-Length"])))
      def do_GET(self):
          if self.path == "/headers":
              self.answer(str(self.headers).encode())
          elif self.path == "/cut":
              self.answer(b"half", 99999)
              self.close_connection = True
          else:
              self.answer(b"".join(bytes([i & 255]) * 65536 for i in range(320)))
  server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain("cert.pem", "key.pem")
  if sys.argv[1:] == ["client"]:
      context.load_verify_locations("client.pem")
      context.verify_mode = ssl.CERT_REQUIRED
  server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
  server.handle_error = lambda *arguments: None
  print(server.server_address[1], flush=True)
  server.serve_forever()
  """

/// Negotiates HTTP/2, and passes on what comes.
private let relayProgram = """
  import select, socket, ssl, sys, threading
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.load_cert_chain("cert.pem", "key.pem")
  context.set_alpn_protocols(["h2"])
  def relay(client):
      with client, socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as other:
          with context.wrap_socket(client, server_side=True) as tls:
              while True:
                  for source in [tls] if tls.pending() else select.select([tls, other], [], [])[0]:
                      data = source.recv(65536)
                      if not data: return
                      (other if source is tls else tls).sendall(data)
  threading.excepthook = lambda *arguments: None
  listener = socket.create_server(("127.0.0.1", 0))
  print(listener.getsockname()[1], flush=True)
  while True:
      threading.Thread(target=relay, args=[listener.accept()[0]], daemon=True).start()
  """
