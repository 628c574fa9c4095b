#if DEBUG || Controlled
  import LaunchContract

  /// One who follows a declaration.
  struct Observer: Sendable {
    /// Looks whether the value is another now.
    let look: @Sendable () -> Void
    /// There will be no more changes.
    let finish: @Sendable () -> Void
  }

  /// Those who follow declarations, in the order in which they came.
  struct Observers {
    private var byNumber: [Int: Observer] = [:]
    private var last = 0

    var all: [Observer] { byNumber.sorted { $0.key < $1.key }.map(\.value) }

    mutating func add(_ observer: Observer) -> Int {
      last += 1
      byNumber[last] = observer
      return last
    }

    mutating func remove(_ number: Int) {
      byNumber[number] = nil
    }
  }

  extension DeclaredValues {
    /// Every value of a declaration that differs from the one before, from now on.
    func changes<Value>(of declared: Declared<Value>) -> AsyncStream<Value> {
      let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
      let last = Locked<ContractValue?>(nil)
      let look: @Sendable () -> Void = { [weak self] in
        // Under one lock, so that of two updates at a time the later one is told of last.
        last.withLock { last in
          guard let self else { return }
          let value = self.resolve(declared).value
          let written = declared.form.write(value)
          if let last, last != written { continuation.yield(value) }
          last = written
        }
      }
      let remove = observe(Observer(look: look) { continuation.finish() })
      continuation.onTermination = { _ in remove() }
      look()
      return stream
    }
  }
#endif
