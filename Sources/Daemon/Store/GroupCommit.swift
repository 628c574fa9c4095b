#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Lets the changes of several threads share a transaction.
///
/// Whoever comes while nobody commits does it himself, at once and without a switch of threads, for all who wait by then;
/// whoever comes meanwhile waits for the next transaction. So there is one commit at a time, as a writer's thread of its
/// own would have it.
final class GroupCommit<Change: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private let commit: @Sendable ([Change]) -> [StoreError?]
  private var isBusy = false
  private var waiting: [Change] = []
  /// Changes that are being committed.
  private var inWork = 0
  /// How many changes have been committed, or refused: the number of the first that has not.
  private var finished = 0
  /// Of finished changes whose threads have not looked yet.
  private var failures: [Int: StoreError] = [:]

  /// - Parameter commit: makes the changes, called by one thread at a time; says of each why it failed, if it did.
  init(commit: @escaping @Sendable ([Change]) -> [StoreError?]) {
    self.commit = commit
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    changed = .allocate(capacity: 1)
    changed.initialize(to: pthread_cond_t())
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    changed.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Returns once the change is committed.
  func make(_ change: Change) throws(StoreError) {
    pthread_mutex_lock(mutex)
    let number = finished + inWork + waiting.count
    waiting.append(change)
    while isBusy, number >= finished { pthread_cond_wait(changed, mutex) }
    if number >= finished { commitWaiting() }
    let failure = failures.removeValue(forKey: number)
    pthread_mutex_unlock(mutex)
    if let failure { throw failure }
  }

  /// Runs `body` while nothing is committed.
  func alone<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    pthread_mutex_lock(mutex)
    while isBusy { pthread_cond_wait(changed, mutex) }
    isBusy = true
    pthread_mutex_unlock(mutex)
    defer {
      pthread_mutex_lock(mutex)
      isBusy = false
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(mutex)
    }
    return try body()
  }

  /// How many changes wait for the next transaction.
  var waitingCount: Int {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return waiting.count
  }

  /// Only under the lock, which is free while it commits.
  private func commitWaiting() {
    let batch = waiting
    waiting = []
    inWork = batch.count
    isBusy = true
    pthread_mutex_unlock(mutex)
    let results = commit(batch)
    pthread_mutex_lock(mutex)
    for (index, failure) in results.enumerated() where failure != nil { failures[finished + index] = failure }
    finished += batch.count
    inWork = 0
    isBusy = false
    pthread_cond_broadcast(changed)
  }
}
