import Foundation

/// How often a promise is put to the test: a few hundred times, or what `DIORAMA_ROUNDS` says (`make soak`: 10,000).
let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 300
