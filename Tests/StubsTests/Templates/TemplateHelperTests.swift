import Testing

/// Helpers with the results of WireMock 2.35.1.
struct TemplateHelperTests {
  @Test(
    "changes the case of letters",
    arguments: [
      (#"{{capitalize "the quick-brown fOX"}}"#, "The Quick-brown FOX"),
      (#"{{capitalize "the QUICK" fully=true}}"#, "The Quick"),
      (#"{{capitalizeFirst "abc def"}}"#, "Abc def"),
      (#"{{capitalize ""}}"#, ""),
      (#"{{capitalize " a  b"}}"#, " A  B"),
      (#"{{lower "ABC É"}}"#, "abc é"),
      (#"{{upper "abc é ß"}}"#, "ABC É SS"),
    ])
  func capitalize(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "pads texts",
    arguments: [
      (#"{{center "abc" size=9}}"#, "   abc   "),
      (#"{{center "abc" size=8 pad="*"}}"#, "**abc***"),
      (#"{{center "abc" size=2}}"#, "abc"),
      (#"{{center "abc" size=10 pad="xy"}}"#, "xyxabcxyxy"),
      (#"{{ljust "abc" size=6}}"#, "abc   "),
      (#"{{ljust "abc" size=7 pad="xy"}}"#, "abcxyxy"),
      (#"{{rjust "abc" size=6}}"#, "   abc"),
      (#"{{rjust "abc" size=8 pad="xyz"}}"#, "xyzxyabc"),
    ])
  func padding(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "replaces, cuts and strips",
    arguments: [
      (#"{{cut "a b c"}}"#, "abc"),
      (#"{{cut "a-b-c" "-"}}"#, "abc"),
      (#"{{cut ""}}"#, ""),
      ("{{cut missing}}", ""),
      (#"{{replace "abcabc" "b" "XX"}}"#, "aXXcaXXc"),
      (#"{{replace "abc" "" "-"}}"#, "-a-b-c-"),
      (#"{{replace "a.c" "." "!"}}"#, "a!c"),
      (#"{{slugify "Hello, World 42! é"}}"#, "hello-world--é"),
      (#"{{slugify "  a  b "}}"#, "a--b"),
      (#"{{stripTags "<p>a <b>x</b>\n</p>"}}"#, #"a x\n"#),
      (#"{{substring "abcdef" 2}}"#, "cdef"),
      (#"{{substring "abcdef" 1 3}}"#, "bc"),
      (#"{{substring "abc" 3}}"#, ""),
      (#"{{trim "  a b  "}}|{{#trim}}  x {{parameters.name}} {{/trim}}|"#, "a b|x Ann|"),
    ])
  func replacing(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "wraps and abbreviates",
    arguments: [
      ("{{{wordWrap parameters.text 10}}}", "The quick\nbrown fox"),
      (#"{{{wordWrap "abcdefghijkl mn" 5}}}"#, "abcdefghijkl\nmn"),
      (#"{{{wordWrap "a b c d e f" 3}}}"#, "a b\nc d\ne f"),
      (#"{{{wordWrap "abc" 5}}}"#, "abc"),
      (#"{{{wordWrap "a  b   c" 2}}}"#, "a \nb \nc"),
      ("{{abbreviate parameters.text 10}}", "The qui..."),
      (#"{{abbreviate "abc" 4}}"#, "abc"),
      (#"{{abbreviate "abcdefgh" 4}}"#, "a..."),
      (#"{{{wordWrap "  a The bb" 10}}}"#, "a The bb"),
      (#"{{numberFormat 61610 ".00" groupingUsed=true}}"#, "61610.00"),
    ])
  func wrapping(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "replaces empty values",
    arguments: [
      (
        #"{{defaultIfEmpty missing "d"}}|{{defaultIfEmpty "" "d"}}|{{defaultIfEmpty "v" "d"}}|{{defaultIfEmpty missing}}|{{defaultIfEmpty parameters.zero 7}}|{{defaultIfEmpty request.query.q "d"}}|{{defaultIfEmpty parameters.list "x"}}"#,
        "d|d|v||7|1|[a, b, c]"
      ),
      ("{{yesno true}}", "yes"),
      ("{{yesno false}}", "no"),
      ("{{yesno missing}}", "maybe"),
      (#"{{yesno true yes="Y"}}"#, "Y"),
      (#"{{yesno false no="N"}}"#, "N"),
      (#"{{yesno missing maybe="M"}}"#, "M"),
    ])
  func defaults(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "joins values",
    arguments: [
      (#"{{join parameters.list ", "}}"#, "a, b, c"),
      (#"{{join "a" "b" "c" "-"}}"#, "a-b-c"),
      (#"{{join parameters.list "," prefix="<" suffix=">"}}"#, "&lt;a,b,c&gt;"),
      (#"{{join request.query.q "+"}}"#, "1+2"),
      (#"{{join parameters.empty ","}}"#, ""),
      (#"{{join 1 2 "/"}}"#, "1/2"),
    ])
  func joining(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "formats texts and numbers",
    arguments: [
      (#"{{stringFormat "%2$s %1$s" "a" "b"}}"#, "b a"),
      (#"{{stringFormat "%10s|%-10s|%.2s" "abc" "abc" "abc"}}"#, "       abc|abc       |ab"),
      (#"{{stringFormat "%S" "abc"}}"#, "ABC"),
      (#"{{stringFormat "none"}}"#, "none"),
      (#"{{stringFormat "%s %s" missing parameters.list}}"#, "null [a, b, c]"),
      (#"{{stringFormat "%f" 2.5}}"#, "2.500000"),
      (#"{{stringFormat "%08.3f|%,.2f|%(d" 3.14159 1234567.891 -5}}"#, "0003.142|1,234,567.89|(5)"),
      ("{{numberFormat 1234567.891}}", "1,234,567.891"),
      (#"{{numberFormat 1234.5 "currency"}}"#, "$1,234.50"),
      (#"{{numberFormat 0.256 "percent"}}"#, "26%"),
      (#"{{numberFormat 1234.5 "integer"}}"#, "1,234"),
      (##"{{numberFormat 1234.567 "#,##0.00"}}"##, "1,234.57"),
      (#"{{numberFormat 5 "000"}}"#, "005"),
      (#"{{numberFormat 1234.5 "0.###"}}"#, "1234.5"),
      (#"{{numberFormat "x" "alt"}}"#, "alt"),
      (#"{{numberFormat "x"}}"#, ""),
      ("{{numberFormat -5.5}}", "-5.5"),
      (#"{{numberFormat -5.5 "currency"}}"#, "-$5.50"),
      (#"{{numberFormat 2.5 "0"}}"#, "2"),
      (#"{{numberFormat 3.5 "0"}}"#, "4"),
      (#"{{numberFormat 0.125 "0.00"}}"#, "0.12"),
      (#"{{numberFormat 2.5 "0" roundingMode="half_up"}}"#, "3"),
      (#"{{numberFormat 2.4 "0" roundingMode="UP"}}"#, "3"),
      (#"{{numberFormat -2.4 "0" roundingMode="floor"}}"#, "-3"),
      (#"{{numberFormat 0.15 "0.0"}}"#, "0.1"),
      (##"{{numberFormat 0.5 "#.##"}}"##, "0.5"),
      (##"{{numberFormat 0 "#.##"}}"##, "0"),
      ("{{numberFormat 1234567 groupingUsed=false}}", "1234567"),
      ("{{numberFormat 3.14159 maximumFractionDigits=2}}", "3.14"),
      ("{{numberFormat 3 minimumFractionDigits=2}}", "3.00"),
      ("{{numberFormat 3 minimumIntegerDigits=3}}", "003"),
      ("{{numberFormat 12345 maximumIntegerDigits=3}}", "345"),
      (#"{{numberFormat 0.256 "0.0%"}}"#, "25.6%"),
      (#"{{numberFormat 5 "$#,##0.00;($#,##0.00)"}}"#, "$5.00"),
      (#"{{numberFormat 99.999 "0.0"}}"#, "100.0"),
      (#"{{numberFormat 0.001 "0.00"}}"#, "0.00"),
      (#"{{numberFormat -0.001 "0.00"}}"#, "-0.00"),
      (#"{{numberFormat parameters.rate "0.000"}}"#, "2.500"),
      (##"{{numberFormat 12345678901 "#,###"}}"##, "12,345,678,901"),
    ])
  func formats(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "tells even from odd numbers",
    arguments: [
      ("{{isEven 2}}", "even"),
      ("{{isEven 3}}", ""),
      ("{{isOdd 3}}", "odd"),
      ("{{isOdd 2}}", ""),
      (#"{{isEven 2 "left"}}"#, "left"),
      ("{{stripes 2}}", "even"),
      ("{{stripes 3}}", "odd"),
      (#"{{stripes 3 "a" "b"}}"#, "b"),
      (#"{{isEven "2"}}"#, ""),
    ])
  func parity(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "compares like Java, so that numbers are not texts and multi-values are not single",
    arguments: [
      ("{{eq 1 1}}", "true"),
      ("{{eq 1 1.0}}", "true"),
      (#"{{eq "1" 1}}"#, "false"),
      (#"{{eq "a" "a" yes="Y" no="N"}}"#, "Y"),
      (#"{{eq "a" "b" yes="Y" no="N"}}"#, "N"),
      ("{{neq 1 2}}", "true"),
      ("{{eq missing missing2}}", "true"),
      ("{{eq parameters.list parameters.list}}", "true"),
      (#"{{eq request.query.q "1"}}"#, "false"),
      (#"{{eq request.method "POST"}}"#, "false"),
      (#"{{eq request.query.q.[0] "1"}}"#, "true"),
      (#"{{eq request.headers.X-Multi.[0] "one"}}"#, "true"),
      (
        #"{{gt 2 1}} {{gte 2 2}} {{lt 1 2}} {{lte 3 2}} {{gt "b" "a"}} {{gt 2.5 2}} {{lt parameters.count 4}} {{lt parameters.rate 3}} {{#gt 2 1}}a{{else}}b{{/gt}} {{#lt 2 1}}a{{else}}b{{/lt}} {{gt 1 2 yes="y" no="n"}}"#,
        "true true true false true true true true a b n"
      ),
    ])
  func comparisons(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "combines conditions",
    arguments: [
      (
        #"{{and true true}} {{and true false}} {{and "a" 1 parameters.list}} {{and "a" ""}} {{or false "" 0}} {{or false "x"}} {{not true}} {{not ""}} {{#and true true}}a{{else}}b{{/and}} {{#or false false}}a{{else}}b{{/or}} {{#not false}}a{{else}}b{{/not}} {{and true yes="Y"}} {{not true no="N"}}"#,
        "true false true false false true false true a b a Y N"
      )
    ])
  func logic(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "searches for texts and expressions",
    arguments: [
      (
        #"{{contains parameters.list "a"}} {{contains parameters.list "z"}} {{contains "abc" "b"}} {{contains request.query.q "2"}} {{contains missing "a"}} {{contains "abc" missing}} {{#contains "abc" "b"}}y{{else}}n{{/contains}}{{#contains "abc" "z"}}y{{else}}n{{/contains}} {{contains "abc"}} {{contains "abc" ""}}"#,
        "true false true true false false y [ERROR: You must specify the string or array to be matched and the regular expression] true"
      ),
      (
        #"{{matches "abc123" "[a-z]+[0-9]+"}} {{matches "abc123" "[a-z]+"}} {{#matches "a" "a|b"}}y{{else}}n{{/matches}}{{#matches "c" "a|b"}}y{{else}}n{{/matches}} {{matches "" "x*"}} {{matches "a"}}"#,
        "true false y true [ERROR: You must specify the string to be matched and the regular expression]"
      ),
      (
        #"{{regexExtract "abc123" "[0-9]+"}} {{regexExtract "a1b2" "([a-z])([0-9])" "g"}}{{g}} {{g.[1]}} {{g.3}} {{g.length}} {{regexExtract "x" "[0-9]"}} {{regexExtract "x" "[0-9]" default="d"}} {{regexExtract "x" "["}} {{regexExtract "abc" "b" "h"}} {{regexExtract "ab" "(x)?b" "o"}}{{o.[0]}}|"#,
        "123 a 1 2 4 [ERROR: Nothing matched [0-9]] d [ERROR: Invalid regex string [] [ERROR: Nothing matched b] |"
      ),
    ])
  func searching(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "encodes and decodes",
    arguments: [
      (
        #"{{base64 "hello"}} {{{base64 "hell"}}} {{base64 "hell" padding=false}} {{base64 "aGVsbG8=" decode=true}} {{#base64}}x{{parameters.name}}{{/base64}} {{#base64 decode=true}}aGk={{/base64}} {{base64 "aGVsbG8" decode=true}}"#,
        "aGVsbG8&#x3D; aGVsbA== aGVsbA hello eEFubg== hi hello"
      ),
      (#"{{urlEncode "a b&c=d/é~*-._"}}"#, "a+b%26c%3Dd%2F%C3%A9%7E*-._"),
      (#"{{urlEncode "a+b%20c%C3%A9" decode=true}}"#, "a b cé"),
      (#"{{formData "a=1&b=x+y&a=2&c=&d" "f"}}{{f.a}} {{f.a.[1]}} {{f.b}} {{f.c}}|{{{f}}}"#, "1 2 x+y |{a=1, b=x+y}"),
      (
        #"{{formData "a=x%20y+z" "f" urlDecode=true}}{{f.a}} {{formData "b=2"}} {{formData "a=b=c&d=" "g"}}{{g.a}}{{g.d}}"#,
        "x y z {b&#x3D;2} b"
      ),
      ("{{urlEncode 'é' encoding='iso-8859-1'}}", "%E9"),
    ])
  func encodings(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "calculates with decimal numbers",
    arguments: [
      (#"{{math 1 "+" 2}}"#, "3"),
      (#"{{math "1.5" "+" "1.5"}}"#, "3.0"),
      (#"{{math 10 "/" 4}}"#, "3"),
      (#"{{math 10.0 "/" 3}}"#, "3.3"),
      (#"{{math 7 "%" 3}}"#, "1"),
      (#"{{math 2 "x" 3}}"#, "6"),
      (#"{{math "abc" "+" 1}}"#, "1"),
      (#"{{math 1 "^" 2}}"#, "[ERROR: ^ is not a valid mathematical operator]"),
      (
        #"{{{math 1 "+"}}}"#,
        "[ERROR: All maths functions require two operands and an operator as parameters e.g. 3 '+' 2]"
      ),
      (#"{{math 3000000000 "*" 2}}"#, "6.0E9"),
      (#"{{math parameters.rate "*" 2}}"#, "5.0"),
      (#"{{math -7 "/" 2}}"#, "-4"),
      (#"{{math 7 "/" -2}}"#, "-4"),
      (#"{{math -7 "%" 3}}"#, "-1"),
      (#"{{math 1 "-" 5}}"#, "-4"),
      (#"{{math 0.1 "+" 0.2}}"#, "0.3"),
      (#"{{math "1e3" "+" 1}}"#, "1001"),
      (#"{{math "10000000000" "*" 3}}"#, "30000000000"),
      (#"{{math parameters.list "+" 1}}"#, "1"),
      (#"{{math 1.25 "/" 0.5}}"#, "2.5"),
      (#"{{math 100 "*" 1.1}}"#, "110.0"),
      (#"{{math request.query.q "+" 1}}"#, "2"),
      (#"{{math 12 "%" 0.001}}"#, "0"),
      (#"{{math 12 "%" "-645396.7065"}}"#, "12"),
      (#"{{math 3000000000 "/" 2}}"#, "1.5E9"),
      (#"{{math 7.5 "%" 2}}"#, "1.5"),
    ])
  func arithmetic(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "makes lists and counts elements",
    arguments: [
      ("{{range 1 5}}", "[1, 2, 3, 4, 5]"),
      (#"{{range "2" 4}}"#, "[2, 3, 4]"),
      ("{{range 1}}", "[ERROR: The range helper requires both lower and upper bounds as integer parameters]"),
      ("{{range 3 3}}", "[3]"),
      ("{{range 3 2}}", "[]"),
      ("{{range -2 1}}", "[-2, -1, 0, 1]"),
      (#"{{array 1 "b" true}}"#, "[1, b, true]"),
      ("{{array}}", "[]"),
      ("{{size (array 1 2)}}", "2"),
      ("{{array parameters.list 1}}", "[[a, b, c], 1]"),
      ("{{array missing}}", "[]"),
      (#"{{join (array 1 2 3) "-"}}"#, "1-2-3"),
      (#"{{size "abc"}}"#, "3"),
      ("{{size parameters.list}}", "3"),
      ("{{size parameters.map}}", "2"),
      ("{{size 3}}", ""),
      ("{{size request.query.q}}", "2"),
      ("{{size request.query}}", "3"),
      (#"{{size ""}}"#, "0"),
      (#"{{size "😀"}}"#, "2"),
    ])
  func lists(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "stores values in variables",
    arguments: [
      (
        #"{{#parseJson "x"}} {"a":{"b":[1,2.50]},"n":null} {{/parseJson}}{{x.a.b}} {{x.a.b.[1]}} {{{x}}} {{{parseJson "[1,2]"}}} {{{parseJson "{\"a\":1}" "y"}}}{{y.a}} {{parseJson "{}" "z"}}|{{z}} {{parseJson}} {{parseJson missing "q"}}"#,
        "[1, 2.50] 2.50 {a={b=[1, 2.50]}, n=null} [1, 2] 1 {}| [ERROR: Missing required JSON string parameter] {}"
      ),
      (
        #"{{#assign "v"}} a {{parameters.name}} {{/assign}}[{{v}}]{{#each parameters.list}}{{#assign "w"}}{{this}}{{v}}{{/assign}}{{/each}}{{w}} {{#assign "name"}}z{{/assign}}{{#with parameters}}{{name}}{{/with}}{{name}}"#,
        "[a Ann]ca Ann Annz"
      ),
      (#"{{assign "v" "x"}}[{{v}}]"#, "[]"),
    ])
  func variables(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "refuses system values",
    arguments: [
      (#"{{systemValue key="HOME"}}"#, "[ERROR: Access to HOME is denied]"),
      ("{{systemValue}}", "[ERROR: The key cannot be empty]"),
      (#"{{systemValue key="wiremock.x"}}"#, ""),
      (#"{{systemValue key="user.home" type="PROPERTY"}}"#, "[ERROR: Access to user.home is denied]"),
    ])
  func system(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "reads JSON by paths",
    arguments: [
      (#"{{jsonPath request.body "$.name"}}"#, "Tom &amp; &quot;J&quot;"),
      (#"{{{jsonPath request.body "$.o"}}}"#, "{\n  \"k\" : \"v\",\n  \"b\" : true\n}"),
      (#"{{{jsonPath request.body "$.list"}}}"#, #"[1,2,{"a":null}]"#),
      (#"{{jsonPath request.body "$.o.k"}}"#, "v"),
      (#"{{jsonPath request.body "$.list[1]"}}"#, "2"),
      (#"{{jsonPath request.body "$.d"}}"#, "1.5"),
      (#"{{jsonPath request.body "$.big"}}"#, "12345678901"),
      (#"{{jsonPath request.body "$.missing"}}"#, ""),
      (#"{{jsonPath request.body "$.missing" default="x"}}"#, "x"),
      (#"{{{jsonPath request.body "$.list[*]"}}}"#, #"[1,2,{"a":null}]"#),
      (
        #"{{{jsonPath request.body "$"}}}"#,
        "{\n  \"name\" : \"Tom & \\\"J\\\"\",\n  \"n\" : 3,\n  \"d\" : 1.5,\n  \"big\" : 12345678901,\n  \"list\" : [ 1, 2, { } ],\n  \"o\" : {\n    \"k\" : \"v\",\n    \"b\" : true\n  },\n  \"empty\" : [ ]\n}"
      ),
      (#"{{jsonPath request.body "$.empty"}}"#, "[]"),
      (#"{{jsonPath request.body "$.o.b"}}"#, "true"),
      (
        #"{{jsonPath request.body "$["}} {{jsonPath request.body}} {{jsonPath missing "$.a"}}|{{jsonPath "{broken" "$.a"}} {{jsonPath parameters "$.name"}} {{jsonPath parameters.people "$[1].n"}} {{{jsonPath "[\"x/y\",1.50,null,{\"c\":2},[1],true,1e30,12345678901234567890]" "$"}}}"#,
        #"[ERROR: $[ is not a valid JSONPath expression] [ERROR: The JSONPath cannot be empty] |[ERROR: {broken is not valid JSON] Ann y ["x\/y",1.5,null,{"c":2},[1],true,1.0E30,12345678901234567890]"#
      ),
      (
        #"{{#each (jsonPath request.body "$.list") as |x|}}<{{{x}}}>{{/each}} {{#with (jsonPath request.body "$.o")}}{{k}}{{b}}{{/with}} {{size (jsonPath request.body "$.list")}} {{join (jsonPath request.body "$.list") "+"}}"#,
        "<1><2><{a=null}> vtrue 3 1+2+{a&#x3D;null}"
      ),
      (
        #"{{#each (jsonPath request.body "$.o")}}{{@key}}={{this}};{{/each}} {{lookup (jsonPath request.body "$.o") "k"}} {{#eq (jsonPath request.body "$.n") 3}}y{{/eq}}"#,
        "k=v;b=true; v y"
      ),
      ("{{jsonPath 'not json' '$.a'}}", ""),
    ])
  func json(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "reads XML by paths",
    arguments: [
      (
        #"{{{xPath parameters.xml "/r/a"}}} {{xPath parameters.xml "/r/a/text()"}} {{xPath parameters.xml "/r/a/@id"}} {{xPath parameters.xml "//b"}} {{xPath "<" "/a"}} {{xPath parameters.xml "///"}} {{xPath parameters.xml}} {{xPath missing "/a"}} {{#each (xPath parameters.xml "/r/a") as |n|}}{{n.text}} {{n.name}} {{n.attributes.id}};{{/each}}"#,
        "<a id=\"1\">x</a>\n x 1  [ERROR: &lt; is not valid XML] [ERROR: /// is not a valid XPath expression] [ERROR: The XPath expression cannot be empty] [ERROR: null is not valid XML] x a 1;y a ;"
      ),
      (#"{{soapXPath "<Envelope><Body><a>soap</a></Body></Envelope>" "a/text()"}}"#, "soap"),
    ])
  func xml(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "fails where WireMock answers 500",
    arguments: [
      #"{{replace "abc" "b"}}"#,
      #"{{substring "abc" 4}}"#,
      #"{{substring "abc" 2 1}}"#,
      #"{{substring "abc"}}"#,
      "{{trim missing}}",
      #"{{abbreviate "abcdefgh" 3}}"#,
      #"{{yesno "x"}}"#,
      "{{join parameters.list}}",
      "{{join parameters.list 1}}",
      #"{{stringFormat "%s is %d and %.2f %5d|%-5d|%05d|%x|%X|%c|%b|%%|%n|%,d|%+d|%e" "a" 42 3.14159 7 7 7 255 255 "c" true 1234567 5 12345.678}}"#,
      #"{{stringFormat "%d" "a"}}"#,
      #"{{stringFormat "%s"}}"#,
      #"{{stringFormat "%d" 1.5}}"#,
      #"{{stringFormat "%q" 1}}"#,
      #"{{gt "3" 2}}"#,
      "{{gt missing 2}}",
      "{{gt parameters.list 2}}",
      #"{{matches "a" "["}}"#,
      #"{{matches missing "a"}}"#,
      "{{base64 missing}}",
      "{{urlEncode missing}}",
      #"{{math 1 "/" 0}}"#,
      #"{{math missing "+" 1}}"#,
      "{{range 3 1}}",
      "{{size missing}}",
      #"{{parseJson "{bad"}}"#,
      #"{{parseJson "5"}}"#,
      #"{{jsonPath "" "$.a"}}"#,
    ])
  func failures(template: String) {
    #expect(TemplateSamples.error(template)?.hasPrefix("body: line 1, column ") == true)
  }
}
