/// The body of a request that has passed and was not kept: what can still be said of it.
package struct LargeBody {
  /// In bytes, as it was compared.
  package let length: Int
  /// Whether the body of the interaction with this number, which is as long, is the same.
  package let isSame: (Int) throws -> Bool

  package init(length: Int, isSame: @escaping (Int) throws -> Bool) {
    self.length = length
    self.isSame = isSame
  }
}
