#if DEBUG || Controlled
  import Synchronization

  /// What declarations have resolved to, one machine word each, readable without a lock.
  ///
  /// Each declaration has a slot by its number, and shares it with those that are a multiple of the capacity away: the
  /// last one that was looked up has it. A slot is written under its owner's lock, with an odd sequence meanwhile. A
  /// reader takes a slot only when the sequence is even and the same before and after.
  struct ValueCache: @unchecked Sendable {
    fileprivate struct Slot: ~Copyable {
      let sequence = Atomic<UInt64>(0)
      let identity = Atomic<UInt64>(0)
      let generation = Atomic<UInt64>(0)
      let word = Atomic<UInt64>(0)
    }

    fileprivate static let capacity = 1_024

    /// One slot more than there are: its generation is the present one.
    private let slots: UnsafeMutablePointer<Slot>

    /// A cache that holds nothing; whoever makes it deallocates it.
    init() {
      slots = .allocate(capacity: Self.capacity + 1)
      for index in 0...Self.capacity { (slots + index).initialize(to: Slot()) }
      begin(generation: 1)
    }

    func deallocate() {
      slots.deinitialize(count: Self.capacity + 1)
      slots.deallocate()
    }

    /// Its place in memory, for ``word(_:in:)``.
    var address: UnsafeRawPointer { UnsafeRawPointer(slots) }

    /// Keeps a word; only under the owner's lock.
    func keep(_ word: UInt64, _ identity: UInt64, generation: UInt64) {
      let slot = slots + Self.index(identity)
      let sequence = slot.pointee.sequence.load(ordering: .relaxed)
      slot.pointee.sequence.store(sequence &+ 1, ordering: .relaxed)
      slot.pointee.identity.store(identity, ordering: .releasing)
      slot.pointee.generation.store(generation, ordering: .releasing)
      slot.pointee.word.store(word, ordering: .releasing)
      slot.pointee.sequence.store(sequence &+ 2, ordering: .releasing)
    }

    /// Forgets everything at once; only under the owner's lock.
    func begin(generation: UInt64) {
      slots[Self.capacity].generation.store(generation, ordering: .releasing)
    }

    @inline(__always)
    fileprivate static func index(_ identity: UInt64) -> Int {
      Int(truncatingIfNeeded: identity) & (capacity - 1)
    }
  }

  /// The word of a declaration; nil where nothing of the present generation is known.
  ///
  /// By the cache's address alone: counting a reference to its owner would take longer than all the rest.
  @usableFromInline
  func cachedWord(_ identity: UInt64, in cache: UnsafeRawPointer) -> UInt64? {
    let slots = cache.assumingMemoryBound(to: ValueCache.Slot.self)
    let slot = slots + ValueCache.index(identity)
    let present = slots[ValueCache.capacity].generation.load(ordering: .acquiring)
    let sequence = slot.pointee.sequence.load(ordering: .acquiring)
    let owner = slot.pointee.identity.load(ordering: .acquiring)
    let made = slot.pointee.generation.load(ordering: .acquiring)
    let word = slot.pointee.word.load(ordering: .acquiring)
    // Each part is stored with release after the sequence went odd: whoever has seen a new part sees that here.
    guard sequence & 1 == 0, slot.pointee.sequence.load(ordering: .relaxed) == sequence,
      owner == identity, made == present
    else { return nil }
    return word
  }

  /// A value that does not fit into a word, in a place that stays until its owner goes.
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
