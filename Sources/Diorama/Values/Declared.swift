#if DEBUG || Controlled
  import Synchronization
#endif

/// What a declaration of the app says: the name by which a test sets it, and what it is without a test.
@usableFromInline
struct Declared<Value: Sendable>: Sendable {
  let name: String
  @usableFromInline let defaultValue: Value
  let purpose: String
  let form: ValueForm<Value>
  #if DEBUG || Controlled
    /// Tells this declaration from every other of the process, so that its value is found without looking at its name.
    @usableFromInline let identity: UInt64
  #endif

  init(_ name: String, _ defaultValue: Value, _ purpose: String, _ form: ValueForm<Value>) {
    self.name = name
    self.defaultValue = defaultValue
    self.purpose = purpose
    self.form = form
    #if DEBUG || Controlled
      identity = DeclarationIdentity.next()
    #endif
  }
}

#if DEBUG || Controlled
  private enum DeclarationIdentity {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
  }
#endif
