import EnvironmentConfiguration
import HTTPMessages

extension RouteTable {
  /// What happened in environments.
  static let journals = [
    Route(
      method: "GET", path: "/v1/environments/{id}/journal", operation: "readJournal",
      summary: "What happened, in order: a page, or with Accept: text/event-stream everything as it happens.",
      parameters: [
        id,
        Parameter(
          name: "after", place: .query, schema: .count, note: "The number of the last entry that is known; 0 for none."),
        Parameter(
          name: "limit", place: .query, schema: .integer(1...1000), note: "Entries in a page; 100 where it is left out."
        ),
        Parameter(
          name: "Last-Event-ID", place: .header, schema: .count,
          note: "Instead of after, from a client that takes up a stream again."),
      ],
      answers: [
        Answer(
          status: 200,
          note:
            "Entries in order. As a stream: events named entry with the entry as JSON, comments in silence, and after "
            + "the last entry of an environment that has ended an event named end: {last, report}, the number of that "
            + "entry and the path of the report. A stream that breaks off without it is to be taken up again.",
          content: ["application/json": .reference("JournalPage"), "text/event-stream": .words])
      ],
      problems: gone.merging([429: "too many follow journals"]) { $1 },
      perform: { call in
        let after = call.parameters.int("after") ?? 0
        let limit = call.parameters.int("limit") ?? 100
        guard ServerSentEvent.isAskedFor(call.headers) else {
          return try .json(try call.operations.journal(call.id, after: after, limit: limit))
        }
        let last = call.parameters.int("Last-Event-ID") ?? after
        return try JournalStream(call, after: last).response()
      }),
    Route(
      method: "GET", path: "/v1/environments/{id}/report", operation: "readReport",
      summary: "What the journal adds up to so far.", parameters: [id],
      answers: [.json(200, "Report", "So far, or the last one of an environment that ended a short while ago.")],
      problems: [404: "there is no such environment, or it ended long ago"],
      perform: { call in try .json(try call.operations.report(call.id)) }),
  ]
}
