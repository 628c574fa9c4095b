import Foundation

/// The releases of the backend: the second is not what apps of the first were made for. That is how backends are, and
/// what `diorama cassette check --live` is there to tell.
///
/// In the second a clinic has no postcode any more (a field gone), a slot starts at seconds since 1970 (a type changed),
/// a page past the last is not found (a status changed), and Hackney is called Dalston (a value changed).
enum Release: Int {
  case first = 1
  case second = 2

  var clinics: [(name: String, postcode: String?)] {
    let clinics = [
      ("Chelsea", "SW3"), ("Shoreditch", "E1"), ("Hackney", "E8"), ("Brixton", "SW2"), ("Camden", "NW1"),
    ]
    guard self == .second else { return clinics }
    return clinics.map { name, _ in (name == "Hackney" ? "Dalston" : name, nil) }
  }

  func moment(_ date: Date) -> Moment {
    self == .second ? .seconds(Int(date.timeIntervalSince1970)) : .date(date)
  }
}

/// A time in an answer, as a release writes it.
enum Moment: Encodable {
  case date(Date)
  case seconds(Int)

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .date(let date): try container.encode(date)
    case .seconds(let seconds): try container.encode(seconds)
    }
  }
}
