#if DEBUG || Controlled
  import Synchronization

  /// The values of declarations, one machine word each, readable without a lock.
  ///
  /// A declaration's slot is its number modulo the capacity; declarations that share a slot replace each other. A slot is
  /// written under its owner's lock, with an odd sequence number during the write. A reader accepts a slot only if the
  /// sequence number is even and unchanged.
  struct ValueCache: @unchecked Sendable {
    fileprivate struct Slot: ~Copyable {
      let sequence = Atomic<UInt64>(0)
      let identity = Atomic<UInt64>(0)
      let generation = Atomic<UInt64>(0)
      let word = Atomic<UInt64>(0)
    }

    fileprivate static let capacity = 1_024

    /// One additional slot holds the current generation.
    private let slots: UnsafeMutablePointer<Slot>

    /// Creates an empty cache. The owner must deallocate it.
    init() {
      slots = .allocate(capacity: Self.capacity + 1)
      for index in 0...Self.capacity { (slots + index).initialize(to: Slot()) }
      begin(generation: 1)
    }

    func deallocate() {
      slots.deinitialize(count: Self.capacity + 1)
      slots.deallocate()
    }

    /// The address of the slots, for `cachedWord(_:in:)`.
    var address: UnsafeRawPointer { UnsafeRawPointer(slots) }

    /// Stores a word. Call it only under the owner's lock.
    func keep(_ word: UInt64, _ identity: UInt64, generation: UInt64) {
      let slot = slots + Self.index(identity)
      let sequence = slot.pointee.sequence.load(ordering: .relaxed)
      slot.pointee.sequence.store(sequence &+ 1, ordering: .relaxed)
      slot.pointee.identity.store(identity, ordering: .releasing)
      slot.pointee.generation.store(generation, ordering: .releasing)
      slot.pointee.word.store(word, ordering: .releasing)
      slot.pointee.sequence.store(sequence &+ 2, ordering: .releasing)
    }

    /// Invalidates all slots. Call it only under the owner's lock.
    func begin(generation: UInt64) {
      slots[Self.capacity].generation.store(generation, ordering: .releasing)
    }

    @inline(__always)
    fileprivate static func index(_ identity: UInt64) -> Int {
      Int(truncatingIfNeeded: identity) & (capacity - 1)
    }
  }

  /// The word of a declaration; nil if the cache has none of the current generation.
  ///
  /// It takes only the cache's address, because retaining the owner would cost more than everything else.
  @usableFromInline
  func cachedWord(_ identity: UInt64, in cache: UnsafeRawPointer) -> UInt64? {
    let slots = cache.assumingMemoryBound(to: ValueCache.Slot.self)
    let slot = slots + ValueCache.index(identity)
    let present = slots[ValueCache.capacity].generation.load(ordering: .acquiring)
    let sequence = slot.pointee.sequence.load(ordering: .acquiring)
    let owner = slot.pointee.identity.load(ordering: .acquiring)
    let made = slot.pointee.generation.load(ordering: .acquiring)
    let word = slot.pointee.word.load(ordering: .acquiring)
    // Each part is stored with release after the sequence became odd, so a reader that sees a new part sees that here.
    guard sequence & 1 == 0, slot.pointee.sequence.load(ordering: .relaxed) == sequence,
      owner == identity, made == present
    else { return nil }
    return word
  }

  /// A value that does not fit into a machine word, at a fixed address.
  final class ValuePlace<Value: Sendable>: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Value>

    init(_ value: Value) {
      pointer = .allocate(capacity: 1)
      pointer.initialize(to: value)
    }

    deinit {
      pointer.deinitialize(count: 1)
      pointer.deallocate()
    }
  }
#endif
