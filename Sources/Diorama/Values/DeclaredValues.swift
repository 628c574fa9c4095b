#if DEBUG || Controlled
  import LaunchContract

  /// The values of a contract as the app's declarations see them: read without a lock after the first time, replaced
  /// while the app runs, each reading logged once.
  @usableFromInline
  final class DeclaredValues: Sendable {
    /// What a declaration came to.
    struct Resolution<Value: Sendable>: Sendable {
      var value: Value
      /// Whether the contract says so; else it is the default.
      var isGiven: Bool
      /// What was wrong with the contract's value.
      var problem: String?
    }

    /// Where the first readings and complaints go.
    struct Hooks: Sendable {
      /// `toggle` or `value`, for messages.
      let noun: String
      /// The names that the app knows; nil where it has not said.
      var known: [String]?
      /// Takes a name with what the app got, once for each value.
      var report: @Sendable (String, ContractValue) -> Void
      /// Takes one line for standard error.
      var warn: @Sendable (String) -> Void
    }

    private struct Reading: Hashable {
      var name: String
      var value: ContractValue
    }

    private struct PlaceKey: Hashable {
      var name: String
      var type: ObjectIdentifier
      var isJSON: Bool
      var given: ContractValue
    }

    private struct State {
      var values: [String: ContractValue]
      var generation: UInt64 = 1
      /// What the cache's words point at. None goes before the store does, since a reader holds on to nothing else.
      var places: [PlaceKey: any Sendable] = [:]
      var readings: [(name: String, value: ContractValue)] = []
      var read: Set<Reading> = []
      var complaints: Set<String> = []
      var observers = Observers()
    }

    private let state: Locked<State>
    let cache = ValueCache()
    let hooks: Hooks

    init(_ values: [String: ContractValue], hooks: Hooks) {
      state = Locked(State(values: values))
      self.hooks = hooks
    }

    deinit {
      for observer in state.withLock({ $0.observers.all }) { observer.finish() }
      cache.deallocate()
    }

    /// The contract's value, whatever it is.
    subscript(_ name: String) -> ContractValue? {
      state.withLock { $0.values[name] }
    }

    /// What was read so far, in order, each value of a name once.
    var readings: [(name: String, value: ContractValue)] {
      state.withLock { $0.readings }
    }

    /// Replaces all values at once: whoever reads later gets the new ones.
    func update(_ values: [String: ContractValue]) {
      let observers = state.withLock { state in
        state.values = values
        state.generation += 1
        cache.begin(generation: state.generation)
        return state.observers.all
      }
      if let known = hooks.known {
        for name in values.keys.sorted() where !known.contains(name) {
          complain(ControlRegistry.unknown("the \(hooks.noun) \(name), which the test has set,", name, among: known))
        }
      }
      for observer in observers { observer.look() }
    }

    /// The value of a declaration, logged and kept for the next time.
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
      // Outside the lock, since the app's own code may run here, and may read toggles.
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
      if let problem = resolution.problem { complain(problem + "; the app goes on with its default") }
      if let known = hooks.known, given == nil, !known.contains(declared.name) {
        complain(
          ControlRegistry.unknown("the \(hooks.noun) \(declared.name), which was read,", declared.name, among: known))
      }
      if isNew { hooks.report(reading.name, reading.value) }
      return resolution
    }

    /// Tells an observer of every update from now on.
    ///
    /// - Returns: what takes it off again.
    func observe(_ observer: Observer) -> @Sendable () -> Void {
      let number = state.withLock { $0.observers.add(observer) }
      return { [weak self] in self?.state.withLock { $0.observers.remove(number) } }
    }

    /// Warns of each thing once.
    private func complain(_ text: String) {
      if state.withLock({ $0.complaints.insert(text).inserted }) { hooks.warn(text) }
    }

    private func read<Value>(
      _ given: ContractValue?, _ place: ValuePlace<Value>?, _ declared: Declared<Value>
    ) -> Resolution<Value> {
      guard let given else { return Resolution(value: declared.defaultValue, isGiven: false) }
      if let place { return Resolution(value: place.pointer.pointee, isGiven: true) }
      do throws(ValueForm<Value>.Mismatch) {
        return Resolution(value: try declared.form.read(given), isGiven: true)
      } catch {
        let text = given.text.count > 100 ? given.text.prefix(100) + "…" : given.text[...]
        return Resolution(
          value: declared.defaultValue, isGiven: false,
          problem: "the \(hooks.noun) \(declared.name) is \(text), \(error.text)")
      }
    }

    /// The bits of a value that is a word itself.
    private static func word<Value>(_ value: Value) -> UInt64? {
      switch value {
      case let value as Bool where Value.self == Bool.self: value ? 1 : 0
      case let value as Int where Value.self == Int.self: UInt64(bitPattern: Int64(value))
      case let value as Double where Value.self == Double.self: value.bitPattern
      default: nil
      }
    }
  }
#endif
