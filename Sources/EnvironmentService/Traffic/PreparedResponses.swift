import Basics
import Cassettes
import EnvironmentConfiguration
import HTTPMessages
import HTTPServer
import Transforms

/// Responses for the upstreams' own ports, or for an isolated command, that were built once, by interaction, with and without their content coding.
struct PreparedResponses: Sendable {
  // Empty until first used.
  private var plain: [PreparedResponse?] = []
  private var coded: [PreparedResponse?] = []

  subscript(index: Int, isCoded: Bool) -> PreparedResponse? {
    let variant = isCoded ? coded : plain
    return variant.isEmpty ? nil : variant[index]
  }

  /// Stores the response for an interaction; `count` is the number of all interactions.
  mutating func keep(_ response: PreparedResponse, _ index: Int, of count: Int, isCoded: Bool) {
    if isCoded {
      if coded.isEmpty { coded = Array(repeating: nil, count: count) }
      coded[index] = response
    } else {
      if plain.isEmpty { plain = Array(repeating: nil, count: count) }
      plain[index] = response
    }
  }
}

/// The result of a match on the fast path.
enum Hit {
  /// A response that is ready.
  case ready(PreparedResponse)
  /// The interaction to play; its response has yet to be built, or chosen by the codings that the app accepts.
  case toPrepare(Int)
}

extension Environment {
  /// Plays the next interaction for a request: advances the playback and writes the journal entry.
  ///
  /// - Parameter keys: the request's keys.
  /// - Returns: the interaction's index; nil for a miss.
  func next(for keys: RequestKeys) -> Int? {
    guard let replay else { return nil }
    let index = state.withLock { state in
      state.play(keys.key, keys.plain, replay: replay, isOfSetup: ClientMark.isOfSetup) { _ in true }
    }
    if index != nil { played() }
    return index
  }

  /// Like ``next(for:)`` without rules, for callers that can only send a prepared response. It skips bodies in files,
  /// which have to be streamed, and responses that depend on what the app received before.
  func nextPrepared(for key: MatchKey) -> Hit? {
    guard let replay else { return nil }
    let hit = state.withLock { state -> Hit? in
      let prepared = state.prepared
      guard
        let index = state.play(
          key, nil, replay: replay, if: { prepared[$0, false] != nil || replay.isPreparable($0) })
      else { return nil }
      // A coded response depends on the codings that this app accepts.
      if let response = state.prepared[index, false], replay.codings(of: index) == nil { return .ready(response) }
      return .toPrepare(index)
    }
    if hit != nil { played() }
    return hit
  }

  private func played() {
    news.added(self)
    if replay?.index.order.isSequence == true { turns.withLock { $0 += 1 } }
  }

  /// The response for an interaction that has been played, built on first use.
  func prepared(_ index: Int, isCoded: Bool) -> PreparedResponse? {
    guard let replay else { return nil }
    if let response = state.withLock({ $0.prepared[index, isCoded] }) { return response }
    do {
      let form: AddressMap.Form = intercepted == nil ? .ownPort : .ownURL
      let response = try replay.prepared(index, addresses: addresses, form: form, isCoded: isCoded)
      state.withLock { $0.prepared.keep(response, index, of: replay.interactions.count, isCoded: isCoded) }
      return response
    } catch {
      let text = "interaction \(index) of \(replay.location.har) cannot be replayed: \(error)"
      fail(text)
      // Not nil: the interaction has been played, and must not be played again for the same request.
      return try? PreparedResponse(status: 500, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
    }
  }
}

extension Environment.State {
  fileprivate mutating func play(
    _ key: MatchKey, _ plain: MatchKey?, replay: Replay, isOfSetup: Bool = false, if isPlayable: (Int) -> Bool
  ) -> Int? {
    guard !isOver, let index = playback?.next(for: key, plain: plain, if: isPlayable) else { return nil }
    requests += 1
    let status = replay.interactions[index].response.status
    let entry = journal.add(.replayed, status: status, interaction: index, isOfSetup: isOfSetup)
    if let journalFile {
      journalFile.write(entry.spelledOut(replay, redactor, sent: JournaledRequest.current), isUrgent: false)
    }
    return index
  }
}
