import Basics
import HTTPMessages
import Stubs

/// One event stream of a stub, from the request to the end of the response.
struct EventStreaming: Sendable {
  let environment: Environment
  let label: String
  let url: String
  let path: String
  let script: EventScript
  let context: TemplateContext
  let way: StubWay?

  private var conversations: Conversations { environment.stubs.conversations }

  /// Registers the client, and starts sending.
  ///
  /// - Parameter lastID: the client's `Last-Event-ID`.
  /// - Returns: the body.
  func begin(lastID: String?) -> BytePipe {
    let pipe = BytePipe(keepsChunks: true)
    let outbox = Outbox(pipe)
    let resumption: Conversations.Resumption?
    do {
      resumption = conversations.listen(at: path, outbox, by: way, lastID: lastID, script, begin: try first())
    } catch {
      failed(error, outbox)
      return pipe
    }
    guard let resumption else {
      pipe.finish()
      return pipe
    }
    if resumption.isLost, let lastID {
      note(
        "the app resumes after event '\(lastID.prefix(100))', which was never sent; it gets the stream from the start"
      )
    }
    let player = Task {
      do { try await play(from: resumption.step, resumption.connection, outbox) } catch let error as CodedError {
        failed(error, outbox)
      } catch {
        // The environment or the stream has ended.
      }
    }
    pipe.onAbandoned { outbox.drop() }
    Task {
      await outbox.run()
      conversations.left(.events, path, resumption.connection)
      player.cancel()
    }
    return pipe
  }

  /// The leading events that have no delay and fit into the client's queue.
  private func first() throws(CodedError) -> [(id: String?, bytes: [UInt8])] {
    var events: [(id: String?, bytes: [UInt8])] = []
    var size = 0
    for step in script.steps {
      guard step.delay == 0, size < Outbox.scriptLimit, let event = try rendered(step) else { break }
      events.append(event)
      size += event.bytes.count
    }
    return events
  }

  private func rendered(_ step: EventScript.Step) throws(CodedError) -> (id: String?, bytes: [UInt8])? {
    var context = context
    context.now = environment.now
    guard let (event, id) = try step.rendered(context) else { return nil }
    let bytes = event.encoded(id: id)
    return (id, way?.event(bytes) ?? bytes)
  }

  private func play(from first: Int, _ connection: Int, _ outbox: Outbox) async throws {
    var pace = ScriptPace(environment)
    for (number, step) in script.steps.enumerated().dropFirst(first) {
      try await outbox.room()
      try await pace.wait(step.delay)
      switch step.action {
      case .close: return outbox.finish()
      case .wait: continue
      case .send:
        guard let event = try rendered(step) else { continue }
        conversations.write(event.bytes, id: event.id, step: number + 1, to: connection, at: path)
      }
    }
  }

  /// The script cannot be played.
  private func failed(_ error: CodedError, _ outbox: Outbox) {
    environment.fail("\(label): \(error.message)")
    note(error.message)
    outbox.drop()
  }

  private func note(_ text: String) {
    environment.note(.note, status: 200, method: "GET", url: url, text: "\(label): \(text)")
  }
}
