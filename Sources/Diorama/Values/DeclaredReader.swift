/// The values of a contract, or none, as the app's copies of its controls hold them.
@usableFromInline
struct DeclaredReader: @unchecked Sendable {
  #if DEBUG || Controlled
    @usableFromInline let store: DeclaredValues?
    /// The store's cache, which lives as long as the store; nil where there is none.
    @usableFromInline let cache: UnsafeRawPointer?

    init(_ store: DeclaredValues) {
      self.store = store
      cache = store.cache.address
    }
  #endif

  /// Everything has its default.
  static var live: DeclaredReader { DeclaredReader() }

  private init() {
    #if DEBUG || Controlled
      store = nil
      cache = nil
    #endif
  }

  /// The value of a declaration: a few nanoseconds after the first time.
  @inlinable
  func value<Value>(_ declared: Declared<Value>) -> Value {
    #if DEBUG || Controlled
      guard let cache else { return declared.defaultValue }
      guard let word = cachedWord(declared.identity, in: cache) else {
        return store?.resolved(declared) ?? declared.defaultValue
      }
      // The compiler leaves one of these in the caller, since it knows the type there.
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
