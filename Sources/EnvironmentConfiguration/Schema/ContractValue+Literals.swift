package import LaunchContract

// A document that is written by hand reads best as literals.
extension ContractValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int) { self = .int(value) }
  package init(arrayLiteral elements: ContractValue...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, ContractValue)...) {
    self = .object(Dictionary(elements) { _, last in last })
  }
}
