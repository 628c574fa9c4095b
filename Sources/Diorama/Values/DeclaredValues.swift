#if DEBUG || Controlled
  import Basics
  import LaunchContract
#endif

/// The values of a contract, or of none, in the app's copies of its controls.
@usableFromInline
struct DeclaredReader: @unchecked Sendable {
  #if DEBUG || Controlled
    @usableFromInline let store: DeclaredValues?
    /// The store's cache, which lives as long as the store; nil without a store.
    @usableFromInline let cache: UnsafeRawPointer?

    init(_ store: DeclaredValues) {
      self.store = store
      cache = store.cache.address
    }
  #endif

  /// A reader without a contract, which returns defaults.
  static var live: DeclaredReader { DeclaredReader() }

  private init() {
    #if DEBUG || Controlled
      store = nil
      cache = nil
    #endif
  }

  /// The value of a declaration. Repeated calls take nanoseconds.
  @inlinable
  func value<Value>(_ declared: Declared<Value>) -> Value {
    #if DEBUG || Controlled
      guard let cache else { return declared.defaultValue }
      guard let word = cachedWord(declared.identity, in: cache) else {
        return store?.resolved(declared) ?? declared.defaultValue
      }
      // The compiler knows the type and removes all but one of these.
      if Value.self == Bool.self { return unsafeBitCast(word != 0, to: Value.self) }
      if Value.self == Int.self { return unsafeBitCast(Int(truncatingIfNeeded: word), to: Value.self) }
      if Value.self == Double.self { return unsafeBitCast(Double(bitPattern: word), to: Value.self) }
      guard let pointer = UnsafePointer<Value>(bitPattern: UInt(truncatingIfNeeded: word)) else {
        return declared.defaultValue
      }
      return withExtendedLifetime(store) { pointer.pointee }
    #else
      return declared.defaultValue
    #endif
  }
}

#if DEBUG || Controlled
  /// The values of a contract, as seen by the app's declarations.
  ///
  /// Repeated readings take no lock. The values can be replaced while the app runs. Each reading is logged once.
  @usableFromInline
  final class DeclaredValues: Sendable {
    /// The value of a declaration.
    struct Resolution<Value: Sendable>: Sendable {
      var value: Value
      /// Whether the contract sets the value; otherwise it is the default.
      var isGiven: Bool
      /// The problem with the contract's value, if any.
      var problem: String?
    }

    /// Receives first readings and warnings.
    struct Hooks: Sendable {
      /// `toggle` or `value`, for messages.
      let noun: String
      /// The names in the app's registry; nil without a registry.
      var known: [String]?
      /// Takes a name and a value that the app read, once for each value.
      var report: @Sendable (String, JSON) -> Void
      /// Takes one line for standard error.
      var warn: @Sendable (String) -> Void
    }

    private struct Reading: Hashable {
      var name: String
      var value: JSON
    }

    private struct PlaceKey: Hashable {
      var name: String
      var type: ObjectIdentifier
      var isJSON: Bool
      var given: JSON
    }

    private struct State {
      var values: [String: JSON]
      var generation: UInt64 = 1
      /// The targets of the cache's pointers. They live as long as the store, because readers do not retain them.
      var places: [PlaceKey: any Sendable] = [:]
      var readings: [(name: String, value: JSON)] = []
      var read: Set<Reading> = []
      var warnings: Set<String> = []
      var observers = Observers()
    }

    private let state: Guarded<State>
    let cache = ValueCache()
    let hooks: Hooks

    init(_ values: [String: JSON], hooks: Hooks) {
      state = Guarded(State(values: values))
      self.hooks = hooks
    }

    deinit {
      for observer in state.withLock({ $0.observers.all }) { observer.finish() }
      cache.deallocate()
    }

    /// The contract's value, of any type.
    subscript(_ name: String) -> JSON? {
      state.withLock { $0.values[name] }
    }

    /// The readings so far, in order, each value of a name once.
    var readings: [(name: String, value: JSON)] {
      state.withLock { $0.readings }
    }

    /// Replaces all values at once, for all later readings.
    func update(_ values: [String: JSON]) {
      let observers = state.withLock { state in
        state.values = values
        state.generation += 1
        cache.begin(generation: state.generation)
        return state.observers.all
      }
      if let known = hooks.known {
        for name in values.keys.sorted() where !known.contains(name) {
          warnOnce(ControlRegistry.unknown("the \(hooks.noun) \(name), which the test has set,", name, among: known))
        }
      }
      for observer in observers { observer.look() }
    }

    /// The value of a declaration. Logs the reading and caches the value.
    @usableFromInline
    func resolved<Value>(_ declared: Declared<Value>) -> Value { resolve(declared).value }

    func resolve<Value>(_ declared: Declared<Value>) -> Resolution<Value> {
      let type = ObjectIdentifier(Value.self)
      let (generation, given, place) = state.withLock { state in
        let given = state.values[declared.name]
        let place = given.flatMap {
          state.places[PlaceKey(name: declared.name, type: type, isJSON: declared.form.kind == .json, given: $0)]
        }
        return (state.generation, given, place as? ValuePlace<Value>)
      }
      // Outside the lock, because this may call the app's own code, which may read toggles.
      let resolution = read(given, place, declared)
      let reading = Reading(name: declared.name, value: declared.form.write(resolution.value))
      let isNew = state.withLock { state in
        if state.generation == generation {
          var word = Self.word(resolution.value)
          if word == nil, resolution.isGiven, let given {
            let key = PlaceKey(name: declared.name, type: type, isJSON: declared.form.kind == .json, given: given)
            let kept = (state.places[key] as? ValuePlace<Value>) ?? ValuePlace(resolution.value)
            state.places[key] = kept
            word = UInt64(UInt(bitPattern: kept.pointer))
          }
          cache.keep(word ?? 0, declared.identity, generation: generation)
        }
        guard state.read.insert(reading).inserted else { return false }
        state.readings.append((reading.name, reading.value))
        return true
      }
      if let problem = resolution.problem { warnOnce(problem + "; the app uses its default") }
      if let known = hooks.known, given == nil, !known.contains(declared.name) {
        warnOnce(
          ControlRegistry.unknown("the \(hooks.noun) \(declared.name), which was read,", declared.name, among: known))
      }
      if isNew { hooks.report(reading.name, reading.value) }
      return resolution
    }

    /// Calls an observer after every update.
    ///
    /// - Returns: a function that removes the observer.
    func observe(_ observer: Observer) -> @Sendable () -> Void {
      let number = state.withLock { $0.observers.add(observer) }
      return { [weak self] in self?.state.withLock { $0.observers.remove(number) } }
    }

    /// Emits each warning once.
    private func warnOnce(_ text: String) {
      if state.withLock({ $0.warnings.insert(text).inserted }) { hooks.warn(text) }
    }

    private func read<Value>(
      _ given: JSON?, _ place: ValuePlace<Value>?, _ declared: Declared<Value>
    ) -> Resolution<Value> {
      guard let given else { return Resolution(value: declared.defaultValue, isGiven: false) }
      if let place { return Resolution(value: place.pointer.pointee, isGiven: true) }
      do {
        return Resolution(value: try declared.form.read(given), isGiven: true)
      } catch {
        let text = given.text.count > 100 ? given.text.prefix(100) + "…" : given.text[...]
        return Resolution(
          value: declared.defaultValue, isGiven: false,
          problem: "the \(hooks.noun) \(declared.name) is \(text), \(error.problem)")
      }
    }

    /// The bits of a value that fits into a machine word.
    private static func word<Value>(_ value: Value) -> UInt64? {
      switch value {
      case let value as Bool where Value.self == Bool.self: value ? 1 : 0
      case let value as Int where Value.self == Int.self: UInt64(bitPattern: Int64(value))
      case let value as Double where Value.self == Double.self: value.bitPattern
      default: nil
      }
    }
  }

  /// An observer of a declaration.
  struct Observer: Sendable {
    /// Checks whether the value has changed.
    let look: @Sendable () -> Void
    /// Ends the observation.
    let finish: @Sendable () -> Void
  }

  /// The observers of declarations, in the order of their registration.
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
    /// The changes of a declaration's value from now on.
    func changes<Value>(of declared: Declared<Value>) -> AsyncStream<Value> {
      let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
      let last = Guarded<JSON?>(nil)
      let look: @Sendable () -> Void = { [weak self] in
        // Under one lock, so that of two simultaneous updates the later one is delivered last.
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
