import Testing

struct TemplateErrorTests {
  @Test(
    "names the place, the problem and what to do",
    arguments: [
      ("a\n {{#if x}}b{{c}}", "body: line 2, column 2: 'if' is not closed; add '{{/if}}'"),
      ("{{#if x}}{{/each}}", "body: line 1, column 10: '{{/each}}' closes '{{#if}}'; write '{{/if}}'"),
      ("{{/if}}", "body: line 1, column 1: '{{/if}}' is outside of a block; remove it"),
      ("{{else}}", "body: line 1, column 1: '{{else}}' is outside of a block; remove it"),
      ("{{^}}", "body: line 1, column 1: '{{^}}' is outside of a block; remove it"),
      (
        "{{radnomValue length=3}}",
        "body: line 1, column 3: there is no helper 'radnomValue'; did you mean 'randomValue'?"
      ),
      ("{{x (uper y)}}", "body: line 1, column 6: there is no helper 'uper'; did you mean 'upper'?"),
      ("{{> header}}", "body: line 1, column 1: partials are not supported; write the text in place"),
      ("{{#> header}}{{/header}}", "body: line 1, column 1: partials are not supported; write the text in place"),
      ("{{* x}}", "body: line 1, column 1: decorators are not supported; remove the tag"),
      ("{{=<% %>=}}", "body: line 1, column 1: other delimiters are not supported; use '{{' and '}}'"),
      ("{{i18n \"a\"}}", "body: line 1, column 3: the helper 'i18n' is not supported; remove it"),
      (
        #"{"a":{{x}}}"#,
        "body: line 1, column 9: '}}' expected, found 3 braces; separate the tag from a brace that follows: '}} }'"
      ),
      ("{{upper \"a}}", "body: line 1, column 9: the string is not closed; add \""),
      ("{{!-- a }}", "body: line 1, column 1: the comment is not closed; add '--}}'"),
      ("{{{{raw}}}} {{/raw}}", "body: line 1, column 5: the raw block is not closed; add '{{{{/raw}}}}'"),
      (
        "{{size request.query.none}}",
        "body: line 1, column 3: 'size' needs a text, list or map, and 'request.query.none' has no value; "
          + "check the path, or use 'defaultIfEmpty'"
      ),
      (
        "{{now timezone='Mars'}}",
        "body: line 1, column 3: 'Mars' is not a time zone; use a name such as 'Europe/London' or 'GMT+1'"
      ),
      ("{{matches 'a' '['}}", "body: line 1, column 3: 'matches': '[' is not a valid regular expression"),
    ])
  func message(template: String, error: String) {
    #expect(TemplateSamples.error(template) == error)
  }
}
