import Testing

/// Templates whose text WireMock 2.35.1 renders the same.
struct TemplateSyntaxTests {
  @Test(
    "prints values as Java does, found by paths of every kind",
    arguments: [
      (
        "{{parameters.list.[0]}} {{parameters.list.1}} {{parameters.list.[9]}} {{parameters.[list].[2]}} {{parameters/list/0}}",
        "a b  c a"
      ),
      ("{{parameters.[with-dash]}} {{parameters.with-dash}} {{parameters.[with space]}}", "dash dash sp"),
      (
        "{{parameters.nested.deep.v}} {{parameters.nested.deep.v.[1]}} {{parameters.lists}} {{parameters.lists.[0].[1]}}",
        "[10, 20] 20 [[1, 2], [3]] 2"
      ),
      ("{{parameters.nil}}|{{parameters.missing}}|{{missing}}|{{missing.x}}|{{parameters.name.x}}", "||||"),
      (
        "{{this.parameters.name}} {{./parameters.name}} {{this/parameters/name}} {{@root.parameters.name}} {{../parameters.name}}|",
        "Ann Ann Ann Ann |"
      ),
      (
        "{{parameters.list.size}} {{parameters.list.length}} {{parameters.list.empty}} {{parameters.name.length}} {{parameters.map.size}} {{parameters.emptyMap.empty}} {{request.query.q.first}} {{request.query.q.last}} {{request.url.length}} {{parameters.map.keySet}} {{parameters.map.values}} {{request.query.q.[-1]}} {{parameters.list.[-1]}}|",
        "3 3 false 3 2 true 1 2 31 [k1, k2] [v1, v2] 1 |"
      ),
      (
        "{{{parameters.map}}} {{parameters.list}} {{{parameters.people}}} {{parameters.rate}} {{parameters.flag}} {{parameters.emptyMap}} {{parameters.empty}}",
        "{k1=v1, k2=v2} [a, b, c] [{n=x, age=1}, {n=y, age=2}] 2.50 true {} []"
      ),
      ("{{parameters..name}}|{{parameters./name}}|{{parameters.name.}}|", "Ann|Ann|Ann|"),
    ])
  func pathsAndValues(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "escapes HTML in double braces only",
    arguments: [
      ("plain {{parameters.name}} text", "plain Ann text"),
      (
        "{{parameters.html}}|{{{parameters.html}}}|{{&parameters.html}}",
        #"&lt;b&gt;&amp;&#x27;&quot;&#x60;&#x3D;&lt;/b&gt;|<b>&'"`=</b>|<b>&'"`=</b>"#
      ),
      ("{{ parameters.name }}|{{{ parameters.name }}}|{{& parameters.name }}", "Ann|Ann|Ann"),
      (
        #"{{upper "it's"}} {{upper 'say "x"'}} {{upper "a\"b"}} {{upper 'a\'b'}} {{{upper "a\nb"}}}"#,
        #"IT&#x27;S SAY &quot;X&quot; A&quot;B A&#x27;B A\NB"#
      ),
    ])
  func escaping(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "drops comments",
    arguments: [
      ("a {{! comment }}b{{!-- {{x}} -- --}}c", "a bc")
    ])
  func comments(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "trims white space at tildes, and keeps the line breaks of block tags",
    arguments: [
      ("x  {{~parameters.name~}}  y", "x  Ann  y"),
      ("x  {{~{parameters.html}~}}  y", #"x  <b>&'"`=</b>  y"#),
      ("x {{~&parameters.html~}} y", #"x <b>&'"`=</b> y"#),
      ("a {{~#if parameters.flag~}} b {{~else~}} c {{~/if~}} d", "a b d"),
      ("a {{~#if parameters.off~}} b {{~else~}} c {{~/if~}} d", "a c d"),
      ("a {{#if parameters.flag}} b {{~/if~}} d", "a  b d"),
      ("{{^parameters.off~}} b {{~/parameters.off~}} d", "b  d"),
      ("{{#if parameters.flag}}\nx\n{{/if}}\n  {{! c }}  \ny", "\nx\n\n    \ny"),
    ])
  func whitespace(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "chooses between a block and its inverse",
    arguments: [
      ("{{#if parameters.off}}1{{else if parameters.zero}}2{{else if parameters.flag}}3{{else}}4{{/if}}", "3"),
      ("{{#if parameters.off}}1{{else if parameters.zero}}2{{else}}4{{/if}}", "4"),
      ("{{#if parameters.off}}1{{else eq parameters.count 3}}2{{else}}4{{/if}}", "2"),
      ("{{#if parameters.off}}1{{^}}2{{/if}}", "2"),
      ("{{#if parameters.flag}}a{{^parameters.off}}b{{/parameters.off}}c{{/if}}", "abc"),
      ("{{#if parameters.flag}}a{{^parameters.off}}b{{/parameters.off}}c{{else}}d{{/if}}", "abc"),
      ("{{#if parameters.off}}a{{^parameters.off}}b{{/parameters.off}}c{{else}}d{{/if}}", "d"),
      ("{{#unless parameters.off}}u{{else}}e{{/unless}}{{#unless parameters.flag}}u{{else}}e{{/unless}}", "ue"),
      (
        #"{{#if parameters.zero}}t{{else}}f{{/if}}{{#if parameters.none}}t{{else}}f{{/if}}{{#if parameters.empty}}t{{else}}f{{/if}}{{#if parameters.emptyMap}}t{{else}}f{{/if}}{{#if parameters.nil}}t{{else}}f{{/if}}{{#if "x"}}t{{else}}f{{/if}}{{#if 0}}t{{else}}f{{/if}}{{#if 0.5}}t{{else}}f{{/if}}{{#if true}}t{{/if}}"#,
        "ffftftftt"
      ),
      ("{{#if}}t{{else}}f{{/if}} {{#if parameters.flag as |y|}}{{y.parameters.name}}{{/if}}", "t Ann"),
      ("{{if parameters.flag}}|{{unless parameters.flag}}|{{each parameters.list}}|{{with parameters}}", "|||"),
      ("{{^parameters.list}}x{{/parameters.list}}{{^parameters.off}}off{{/parameters.off}}", "off"),
    ])
  func conditions(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "repeats a block for lists and maps, with the data of the loop",
    arguments: [
      (
        "{{#each parameters.list}}{{this}}{{.}}{{@index}}{{@key}}{{@first}}{{@last}}{{@odd}}{{@even}}{{@index_1}} {{/each}}",
        "aa00firsteven1 bb11odd2 cc22lasteven3 "
      ),
      (
        "{{#each parameters.list}}{{../parameters.name}}{{../../x}}{{parameters.name}}{{@root.parameters.name}};{{/each}}",
        "AnnAnnAnn;AnnAnnAnn;AnnAnnAnn;"
      ),
      (
        "{{#each parameters.people}}{{n}}{{age}}{{this.n}}{{./n}}{{../parameters.count}}{{#each ../parameters.list}}{{.}}{{../n}}{{@../index}}{{@index}}{{/each}};{{/each}}",
        "x1xx3ax00bx01cx02;y2yy3ay10by11cy12;"
      ),
      ("{{#each parameters.map}}{{@key}}={{this}}{{@index}}{{@first}}{{@last}};{{/each}}", "k1=v10first;k2=v21last;"),
      (
        "{{#each parameters.empty}}x{{else}}none{{/each}}|{{#each parameters.missing}}x{{else}}none{{/each}}|{{#each parameters.emptyMap}}x{{else}}none{{/each}}",
        "none|none|none"
      ),
      ("{{#each parameters.list base=5}}{{@index}}{{@first}};{{/each}}", "5first;6;7;"),
      ("{{#each parameters.list as |x|}}{{x}}{{@index}}{{this}}{{parameters.count}};{{/each}}", "a0a3;b1b3;c2c3;"),
      ("{{#each parameters.people as |p i|}}{{p.n}}{{i}}{{n}}{{this.n}}{{../n}}{{./n}};{{/each}}", "x0xxx;y1yyy;"),
      (
        "{{#each parameters.people as |p i|}}{{#each parameters.list as |y j|}}{{p.n}}{{y}}{{i}}{{j}}{{@index}} {{/each}};{{/each}}",
        "xa000 xb011 xc022 ;ya100 yb111 yc122 ;"
      ),
      (
        "{{#each parameters.people as |p i|}}{{#each parameters.list}}{{p.n}}{{this}}{{.}}{{@index}} {{/each}};{{/each}}",
        "x{n&#x3D;x, age&#x3D;1}{p&#x3D;{n&#x3D;x, age&#x3D;1}, i&#x3D;0}0 x{n&#x3D;x, age&#x3D;1}{p&#x3D;{n&#x3D;x, age&#x3D;1}, i&#x3D;0}0 x{n&#x3D;x, age&#x3D;1}{p&#x3D;{n&#x3D;x, age&#x3D;1}, i&#x3D;0}0 ;y{n&#x3D;y, age&#x3D;2}{p&#x3D;{n&#x3D;y, age&#x3D;2}, i&#x3D;1}1 y{n&#x3D;y, age&#x3D;2}{p&#x3D;{n&#x3D;y, age&#x3D;2}, i&#x3D;1}1 y{n&#x3D;y, age&#x3D;2}{p&#x3D;{n&#x3D;y, age&#x3D;2}, i&#x3D;1}1 ;"
      ),
      (
        "{{#each parameters.people as |p i|}}{{#if p.n}}{{p.n}}{{n}}{{/if}}{{#with p}}{{n}}{{age}}{{this}}{{/with}};{{/each}}",
        "xxx1{n&#x3D;x, age&#x3D;1};yyy2{n&#x3D;y, age&#x3D;2};"
      ),
      ("{{#each parameters.map as |v k|}}{{k}}={{v}};{{/each}}", "k1=v1;k2=v2;"),
      ("{{#each parameters.list as |x|}}{{now}}{{upper x}}{{size}};{{/each}}", "A1;B1;C1;"),
      (
        "{{#each request.headers}}{{@key}}:{{this}};{{/each}}",
        "Content-Type:application/json;Cookie:s&#x3D;abc; t&#x3D;1;Host:example.com:8080;X-Multi:one;"
      ),
      ("{{#each request.query}}{{@key}}:{{this}};{{/each}}", "q:1;x:&lt;z&gt;;e:;"),
      (
        "{{#each request.query.q}}{{this}};{{/each}} {{#each request.path}}{{this}};{{/each}} {{#each request.pathSegments as |s|}}{{s}};{{/each}}",
        "1;2; a;b c;d; a;b c;d;"
      ),
      ("{{#each (array 1 2 3) as |n|}}{{#if @last}}{{n}}{{else}}{{n}},{{/if}}{{/each}}", "1,2,3"),
      ("{{#each (array 1 2 3)}}{{this}}{{#unless @last}},{{/unless}}{{/each}}", "1,2,3"),
      ("{{#each parameters.people}}{{#each this}}{{@key}}{{this}}{{@../index}}{{/each}}{{/each}}", "nx0age10ny1age21"),
      (
        "{{#each parameters.list}}{{#if @first}}F{{/if}}{{#if @last}}L{{/if}}{{#if @odd}}O{{/if}}{{this}}{{/each}}",
        "FaObLc"
      ),
      (#"{{#each parameters.list}}{{#eq this "b"}}B{{else}}{{this}}{{/eq}}{{/each}}"#, "aBc"),
    ])
  func loops(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "looks names up in the scopes around",
    arguments: [
      ("{{#if parameters.flag}}{{parameters.name}} {{../parameters.name}}|{{this.parameters.name}}{{/if}}", "Ann |Ann"),
      (
        "{{#with parameters.nested}}{{deep.v}}{{else}}no{{/with}} {{#with parameters.missing}}x{{else}}no{{/with}}",
        "[10, 20] no"
      ),
      ("{{#with parameters.nested.deep as |d|}}{{d.v}} {{v}}{{/with}}", "[10, 20] [10, 20]"),
      (
        "{{#with parameters}}{{name}} {{parameters.name}}|{{@root.parameters.name}}|{{../parameters.name}}|{{upper parameters.name}}{{/with}}",
        "Ann |Ann|Ann|ANN"
      ),
      (
        "{{#with parameters}}{{#if flag}}{{parameters.name}}{{/if}}{{#each list}}{{parameters.name}}{{name}}{{/each}}{{/with}}",
        "AnnAnnAnnAnnAnnAnnAnn"
      ),
      (
        "{{#parameters.list}}{{this}}{{/parameters.list}} {{#parameters.flag}}yes{{/parameters.flag}} {{#parameters.off}}x{{else}}no{{/parameters.off}} {{#parameters.nested}}{{deep.v}}{{/parameters.nested}} {{#parameters.missing}}x{{/parameters.missing}} {{#parameters.empty}}x{{else}}e{{/parameters.empty}}",
        "abc yes no [10, 20]  e"
      ),
      ("{{#foo}}a{{/foo}}", ""),
      (
        "{{#with parameters.people.[0]}}{{n}}{{#with ../parameters.people.[1]}}{{n}}{{../n}}{{../../parameters.name}}{{/with}}{{/with}}",
        "xyxAnn"
      ),
      ("{{#parameters.people}}{{n}}{{@index}}{{else}}x{{/parameters.people}}", "x0y1"),
      ("{{#parameters.people as |p|}}{{p.n}}{{/parameters.people}}", "xy"),
      ("{{..}}|{{#each parameters.list}}{{#with ../parameters.people}}{{length}}{{/with}}{{/each}}", "|222"),
    ])
  func scopes(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "looks up members by computed names",
    arguments: [
      ("{{log parameters.name}}|{{#log}}x{{/log}}|", "||"),
      (
        #"{{lookup parameters "name"}} {{lookup parameters.list 1}} {{lookup parameters.map "nope"}}"#,
        "Ann b {k1&#x3D;v1, k2&#x3D;v2}"
      ),
    ])
  func lookups(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "reads literals and sub-expressions",
    arguments: [
      (#"{{upper (lower "ABC")}} {{upper (substring parameters.text 4 (size "123456789"))}}"#, "ABC QUICK"),
      (#"{{math -1 "+" 2.5}} {{math .5 "+" 1}} {{math 007 "+" 1}}"#, "1.5 1.5 8"),
      (
        #"{{upper true}} {{upper false}}|{{upper 5}} {{upper parameters.list}} {{upper parameters.nil "alt"}}"#,
        "TRUE |5 [A, B, C] alt"
      ),
    ])
  func literals(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "keeps escaped tags, raw blocks, and the text around the first and the last tag",
    arguments: [
      (#"\{{parameters.name}} {{parameters.name}}"#, #"\Ann Ann"#),
      (
        #"{{parameters.name}} \{{parameters.name}} \\{{parameters.name}}"#,
        #"Ann {{parameters.name}} \{{parameters.name}}"#
      ),
      (#"{{parameters.name}}\{{#if}}x{{parameters.name}}"#, "Ann{{#if}}xAnn"),
      ("{{{{with parameters}}}}raw {{name}} {{{{/with}}}}", "raw {{name}} "),
      ("{{{{missing}}}}raw {{name}} {{{{/missing}}}}|", "|"),
      ("{{foo", "{{foo"),
      ("{{parameters.name}}a}}", "Anna}}"),
      ("a }} b", "a }} b"),
      ("}} {{parameters.name}} }}", "}} Ann }}"),
      (#"{"a":{{parameters.count}} }"#, #"{"a":3 }"#),
    ])
  func literalText(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "gives access to the parts of the request",
    arguments: [
      (
        "{{request.url}} {{{request.url}}} {{request.path}} {{request.path.[0]}} {{request.path.1}} {{request.path.[2]}} {{request.path.[3]}}|{{request.path.foo}}|{{request.pathSegments}} {{request.pathSegments.[1]}}",
        "/a/b%20c/d?q&#x3D;1&amp;q&#x3D;2&amp;x&#x3D;%3Cz%3E&amp;e&#x3D; /a/b%20c/d?q=1&q=2&x=%3Cz%3E&e= /a/b c/d a b c d ||/a/b c/d b c"
      ),
      (
        "{{request.query.q}} {{request.query.q.[0]}} {{request.query.q.[1]}} {{request.query.x}} {{request.query.e}}|{{request.query.z}}|{{{request.query}}}",
        "1 1 2 &lt;z&gt; ||{q=1, x=<z>, e=}"
      ),
      (
        "{{request.method}} {{request.host}} {{request.port}} {{request.scheme}} {{request.baseUrl}}",
        "POST example.com 8080 http http://example.com:8080"
      ),
      (
        "{{request.headers.content-type}} {{request.headers.X-Multi}} {{request.headers.x-multi.[1]}} {{request.headers.[Content-Type]}} {{{request.headers}}}",
        "application/json one two application/json {Content-Type=application/json, Cookie=s=abc; t=1, Host=example.com:8080, X-Multi=one}"
      ),
      (
        "{{request.cookies.s}} {{request.cookies.t.[0]}} {{{request.cookies}}} {{{request.body}}}",
        #"abc 1 {s=abc, t=1} {"name":"Tom & \"J\"","n":3,"d":1.50,"big":12345678901,"list":[1,2,{"a":null}],"o":{"k":"v","b":true},"empty":[]}"#
      ),
      (
        "{{request.requestLine.path}} {{request.requestLine.method}} {{request.requestLine.baseUrl}} {{request.requestLine.query.q}}",
        "/a/b c/d POST http://example.com:8080 1"
      ),
    ])
  func requests(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "fails where WireMock answers 500",
    arguments: [
      "{{#if parameters.off}}1{{^if parameters.flag}}2{{/if}}",
      "{{#each parameters.list as |}}{{/each}}",
      #"{{foo "x"}}"#,
    ])
  func failures(template: String) {
    #expect(TemplateSamples.error(template)?.hasPrefix("body: line 1, column ") == true)
  }
}
