import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("Queries of lists")
struct CollectionQueryTests {
  private static let people = """
    [{"id": 1, "name": "Ann", "age": 30, "address": {"city": "Rome"}, "tags": ["a", "b"], "born": "1990-05-01"},
     {"id": 2, "name": "bob", "age": 9, "address": {"city": "Paris"}, "tags": ["b"], "born": "2012-01-31", "ok": true},
     {"id": 3, "name": "Cleo", "age": 30.0, "address": {"city": "Rome"}, "lines": [{"sku": "x"}, {"sku": "y"}]},
     {"id": 4, "name": "Édith", "age": null, "a.b": "dot", "weight_lt": "7", "_rev": "1"}]
    """

  @Test(
    "filter by fields",
    arguments: [
      ("", "Ann bob Cleo Édith"), ("name=Ann", "Ann"), ("name=ann", ""), ("name=Ann&name=bob", "Ann bob"),
      ("age=30", "Ann Cleo"), ("age=3e1", "Ann Cleo"), ("age=null", "Édith"), ("ok=true", "bob"),
      ("address.city=Rome", "Ann Cleo"), ("address.city=Rome&name=Cleo", "Cleo"), ("tags=b", "Ann bob"),
      ("tags.0=b", "bob"), ("lines.sku=y", "Cleo"), ("lines.0.sku=y", ""), ("a.b=dot", "Édith"), ("unknown=1", ""),
      ("age_gte=30", "Ann Cleo"), ("age_lt=30", "bob"), ("age_gt=9&age_lte=30.00", "Ann Cleo"), ("age_gte=x", ""),
      ("name_ne=Ann&name_ne=bob", "Cleo Édith"), ("tags_ne=a", "bob Cleo Édith"), ("age_ne=30", "bob Édith"),
      ("born_gte=2000-01-01", "bob"), ("born_lt=2000-01-01", "Ann"), ("name_gt=Z", "bob Édith"),
      ("name_like=B", "bob"), ("name_like=%C3%89D", "Édith"), ("age_like=0", "Ann Cleo"),
      ("address.city_like=ro&name_like=an", "Ann"),
      ("weight_lt=7", "Édith"), ("_rev=1", "Édith"), ("name=%41nn", "Ann"), ("name", ""), ("q=rOm", "Ann Cleo"),
      ("q=30", "Ann Cleo"), ("q=name", ""), ("q=rome&q=cleo", "Cleo"), ("q=", "Ann bob Cleo Édith"),
    ])
  func filters(query: String, names: String) throws {
    var client = try Client(Self.people)
    #expect(try client.names(query) == names)
  }

  @Test(
    "sort by fields, items without them last",
    arguments: [
      ("_sort=name", "Ann Cleo bob Édith"), ("_sort=-name", "Édith bob Cleo Ann"),
      ("_sort=name&_order=desc", "Édith bob Cleo Ann"),
      ("_sort=age,-name", "bob Cleo Ann Édith"), ("_sort=-age,name", "Ann Cleo bob Édith"),
      ("_sort=age&_sort=name&_order=asc,DESC", "bob Cleo Ann Édith"), ("_sort=address.city,-id", "bob Cleo Ann Édith"),
      ("_sort=unknown", "Ann bob Cleo Édith"), ("_sort=-born", "bob Ann Cleo Édith"),
    ])
  func sorting(query: String, names: String) throws {
    var client = try Client(Self.people)
    #expect(try client.names(query) == names)
  }

  @Test("compare numbers by their exact values")
  func numbers() throws {
    let numbers = [
      "1e400", "12345678901234567891", "12345678901234567890", "0.1", "-0.0", "-5", "-1e400", "10e-2", "1.10",
    ]
    let items = numbers.map { #"{"id":"\#($0)","name":"\#($0)","n":\#($0)}"# }.joined(separator: ",")
    var client = try Client("[\(items)]")
    #expect(
      try client.names("_sort=n")
        == "-1e400 -5 -0.0 0.1 10e-2 1.10 12345678901234567890 12345678901234567891 1e400")
    #expect(try client.names("n=12345678901234567890.0") == "12345678901234567890")
    #expect(try client.names("n_gt=12345678901234567890") == "1e400 12345678901234567891")
    #expect(try client.names("n=0&n=1.1") == "-0.0 1.10")
    #expect(try client.names("n_lt=-5") == "-1e400")
  }

  @Test(
    "show a part of the list, with the number of all",
    arguments: [
      ("_page=1&_limit=2", "1 2"), ("_page=2&_per_page=2", "3 4"), ("_page=9&_limit=2", ""), ("_limit=3", "1 2 3"),
      ("_page=2", ""), ("_start=1&_end=3", "2 3"), ("_start=2", "3 4 5"), ("_end=2", "1 2"), ("_start=3&_limit=1", "4"),
      ("_start=4&_end=2", ""), ("_start=9", ""), ("_page=1&_limit=2&_sort=-id", "5 4"),
    ])
  func windows(query: String, names: String) throws {
    let items = (1...5).map { #"{"id":\#($0),"name":"\#($0)"}"# }.joined(separator: ",")
    var client = try Client("[\(items)]")
    #expect(try client.names(query) == names)
    #expect(try client.send("GET", "/people?\(query)").headers["X-Total-Count"] == "5")
  }

  @Test("link pages with each other, and keep the other parameters")
  func links() throws {
    let items = (1...5).map { #"{"id":\#($0),"even":\#($0 % 2 == 0)}"# }.joined(separator: ",")
    var client = try Client("[\(items)]")
    #expect(
      try client.send("GET", "/people?_sort=id&_page=2&_limit=2").headers["Link"]
        == [
          #"</people?_sort=id&_limit=2&_page=1>; rel="first""#, #"</people?_sort=id&_limit=2&_page=1>; rel="prev""#,
          #"</people?_sort=id&_limit=2&_page=3>; rel="next""#, #"</people?_sort=id&_limit=2&_page=3>; rel="last""#,
        ].joined(separator: ", "))
    #expect(
      try client.send("GET", "/people?even=true&_limit=1").headers["Link"]
        == #"</people?even=true&_limit=1&_page=1>; rel="first", </people?even=true&_limit=1&_page=2>; rel="next", </people?even=true&_limit=1&_page=2>; rel="last""#
    )
    #expect(
      try client.send("GET", "/people?_page=9&_limit=5").headers["Link"]?.contains(#"_page=1>; rel="prev""#) == true)
    #expect(
      try client.send("GET", "/people?_page=1&name=\">é").headers["Link"]
        == #"</people?name=%22%3E%C3%A9&_page=1>; rel="first", </people?name=%22%3E%C3%A9&_page=1>; rel="last""#)
    #expect(try client.send("GET", "/people").headers["Link"] == nil)
    #expect(try client.send("GET", "/people?_start=1").headers["Link"] == nil)
  }

  @Test(
    "are refused if a number, an order or a name is not valid",
    arguments: [
      ("_page=0", "the query parameter '_page' is '0'; use a whole number from 1"),
      ("_limit=x", "the query parameter '_limit' is 'x'; use a whole number from 1"),
      ("_start=-1", "the query parameter '_start' is '-1'; use a whole number from 0"),
      ("_page=9223372036854775807", "the query parameter '_page' is '9223372036854775807'; use a whole number from 1"),
      ("_page=1&_page=2", "the query parameter '_page' is '1,2'; use a whole number from 1"),
      ("_page=1&_start=2", "the query has both '_page' and '_start'; use one of them"),
      ("_limit=1&_per_page=2", "the query has both '_limit' and '_per_page'; use one of them"),
      ("_sort=a&_order=up", "the query parameter '_order' has 'up'; use asc or desc"),
      ("_limt=5", "the query parameter '_limt' is not known; did you mean _limit?"),
      ((0...100).map { "a\($0)=1" }.joined(separator: "&"), "the query has more than 100 parameters; use fewer"),
      (
        "_sort=" + (0...16).map { "a\($0)" }.joined(separator: ","),
        "the query parameter '_sort' has more than 16 fields; use fewer"
      ),
    ])
  func refused(query: String, detail: String) throws {
    var client = try Client(Self.people)
    let answer = try client.send("GET", "/people?\(query)")
    #expect(answer.status == 400)
    #expect(answer.detail == detail)
  }
}
