import Foundation

/// A one-page PDF to print, as small as viewers accept.
struct ConfirmationDocument {
  private let lines: [String]

  init(_ appointment: Records.Appointment) {
    lines = [
      "Appointment \(appointment.id)",
      "\(appointment.slot.clinic.name), \(appointment.slot.start.formatted(.iso8601))",
      "For \(appointment.user.email): \(appointment.symptom)",
    ]
  }

  /// The file's bytes.
  var pdf: [UInt8] {
    let text = lines.map { "(\(Self.escaped($0))) Tj T*" }.joined(separator: "\n")
    let content = "BT /F1 12 Tf 18 TL 72 760 Td\n\(text)\nET"
    let objects = [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        + "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
      "<< /Length \(content.utf8.count) >>\nstream\n\(content)\nendstream",
    ]
    // Bytes above 127 in the second line mark the file as binary (ISO 32000-1, 7.5.2).
    var file = Array("%PDF-1.4\n%".utf8) + [0xE2, 0xE3, 0xCF, 0xD3, 0x0A]
    var table = "xref\n0 \(objects.count + 1)\n0000000000 65535 f \n"
    for (index, object) in objects.enumerated() {
      let offset = String(file.count)
      table += String(repeating: "0", count: 10 - offset.count) + "\(offset) 00000 n \n"
      file += Array("\(index + 1) 0 obj\n\(object)\nendobj\n".utf8)
    }
    let trailer = "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R >>\nstartxref\n\(file.count)\n%%EOF\n"
    return file + Array((table + trailer).utf8)
  }

  /// A PDF string with escaped parentheses and backslashes. Characters outside ASCII are replaced.
  private static func escaped(_ text: String) -> String {
    String(
      text.unicodeScalars.map { scalar in
        switch scalar {
        case "(", ")", "\\": "\\\(scalar)"
        case " "..."~": String(scalar)
        default: "?"
        }
      }.joined())
  }
}
