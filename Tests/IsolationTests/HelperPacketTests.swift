@testable import Isolation
