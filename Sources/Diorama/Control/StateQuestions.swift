#if DEBUG || Controlled
  import Foundation
  import LaunchContract

  /// The live link's questions for the environment's state: one after the other, on a kept connection of their own.
  ///
  /// A question that is cut off is asked again on a new connection, as long as the environment may come back. That does
  /// no harm: steps are numbered, and asking for them changes nothing.
  struct StateQuestions: ~Copyable {
    struct Question {
      /// The last revision that is known.
      var after: Int
      /// The watch that is known; 0 for none.
      var watch: Int
      /// Seconds for which the environment may wait for something new.
      var wait: Int
    }

    /// What an answer may take beyond the wait that was asked for.
    private static let grace = Duration.seconds(10)

    private let address: ControlAddress
    private let follower: String
    private var socket: LoopbackSocket?
    /// Sent, and not answered yet.
    private var asked: Question?

    /// - Parameters:
    ///   - address: the environment's.
    ///   - follower: the name under which the app follows.
    init(_ address: ControlAddress, follower: String) {
      self.address = address
      self.follower = follower
    }

    /// Sends a question, whose answer is to be taken later, if there is a connection; else it is sent then.
    mutating func ask(_ question: Question) {
      guard let socket = socket.take() else { return }
      // What cannot be sent is sent again, on another connection, when its answer is wanted.
      guard (try? socket.send(request(question), by: .now + Self.grace)) != nil else { return }
      self.socket = consume socket
      asked = question
    }

    /// The answer to a question, which is sent now unless it has been.
    ///
    /// - Throws: ``DioramaError`` of kind `control` when the environment refuses, or is not there any more.
    mutating func answer(to question: Question) throws(DioramaError) -> LiveState {
      var tries = Tries(address.presence)
      while true {
        do {
          let state = try receive(question, by: .now + .seconds(question.wait) + Self.grace)
          address.presence.answered()
          if state.over { address.presence.end() }
          return state
        } catch let error as Refusal {
          throw failure(error.text)
        } catch {
          socket = nil
          asked = nil
          guard tries.goOn(after: error) else { throw failure("\(error)") }
        }
      }
    }

    /// What is not to be asked again.
    private struct Refusal: Error {
      let text: String
    }

    private mutating func receive(_ question: Question, by deadline: ContinuousClock.Instant) throws -> LiveState {
      if asked == nil {
        if socket == nil { socket = try address.connect(by: deadline) }
        try socket?.send(request(question), by: deadline)
      }
      asked = nil
      guard let socket = socket.take() else { throw SocketFailure("no connection") }
      let answer = try socket.receiveAnswer(by: deadline)
      if answer.keepsAlive { self.socket = consume socket }
      guard answer.status == 200 else { throw Refusal(text: answer.refusal) }
      do throws(ContractError) {
        return try ContractJSON.decode(LiveState.self, from: Data(answer.body), source: "")
      } catch {
        throw Refusal(text: "its answer cannot be read: \(error.problem)")
      }
    }

    private func request(_ question: Question) -> [UInt8] {
      address.request(
        "GET",
        "/state?after=\(question.after)&wait=\(question.wait)&watch=\(question.watch)&follower=\(follower)&only=steps"
          + "&connection=kept")
    }

    private func failure(_ problem: String) -> DioramaError {
      DioramaError(.control, "the app has lost its environment at \(address.url): \(problem)")
    }
  }
#endif
