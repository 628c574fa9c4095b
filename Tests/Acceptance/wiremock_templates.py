"""The templates of `wiremock_cases.py`, one a line."""


def lines(text):
    """The lines of a raw text block: one template a line."""
    return text.strip("\n").split("\n")


# The request model, of `TEMPLATE_REQUEST` in wiremock_cases.py.
REQUEST_TEMPLATES = lines(r"""
{{request.url}}
{{request.path}}
{{request.path.[0]}}
{{request.path.[1]}}
{{request.path.[2]}}
{{request.path.[9]}}
{{request.path.1}}
{{request.pathSegments}}
{{request.pathSegments.[1]}}
{{request.requestLine.pathSegments.[1]}}
{{request.requestLine.method}}
{{request.requestLine.path}}
{{request.requestLine.query.q}}
{{request.requestLine.baseUrl}}
{{request.query.q}}
{{request.query.q.[0]}}
{{request.query.q.[1]}}
{{request.query.q.[7]}}
{{request.query.q.first}}
{{request.query.r}}
{{request.query.empty}}
{{request.query.missing}}
{{request.query.[deep.name]}}
{{request.query}}
{{request.method}}
{{request.host}}
{{request.port}}
{{request.scheme}}
{{request.baseUrl}}
{{request.headers.X-One}}
{{request.headers.x-one}}
{{request.headers.X-Many}}
{{request.headers.X-Many.[1]}}
{{request.headers.[X-One]}}
{{request.headers.Missing}}
{{request.headers.X-Html}}
{{{request.headers.X-Html}}}
{{&request.headers.X-Html}}
{{request.cookies.sid}}
{{request.cookies.sid.[0]}}
{{request.cookies.none}}
{{request.body}}
{{{request.body}}}
{{request.bodyAsBase64}}
{{request.parts}}
{{request.clientIp}}
{{request.id}}
{{request}}
{{parameters}}
{{missing}}
{{missing.deeper}}
{{request.missing}}
{{this}}
{{#each request.query.q}}[{{this}}]{{/each}}
{{#each request.headers}}{{@key}};{{/each}}
{{#each request.pathSegments as |s i|}}{{i}}={{s}} {{/each}}
{{request.query.q.size}}
{{request.pathSegments.size}}
""")

# Syntax and built-in blocks.
SYNTAX_TEMPLATES = lines(r"""
plain
a {{! comment }} b
a {{!-- comment }} --}} b
\{{request.method}}
{{{{raw}}}}{{x}}{{{{/raw}}}}
{ {x} }
}} {{request.method}}
{{request.method}} }} x
{{ request.method }}
a {{~request.method~}} b
{{#if request.query.q}}yes{{else}}no{{/if}}
{{#if request.query.missing}}yes{{else}}no{{/if}}
{{#if request.query.empty}}yes{{else}}no{{/if}}
{{#unless request.query.missing}}u{{else}}e{{/unless}}
{{#if a}}1{{else if request.query.q}}2{{else}}3{{/if}}
{{^request.query.missing}}inverse{{/request.query.missing}}
{{#request.query.q}}[{{this}}]{{/request.query.q}}
{{#with request.query}}{{q}}{{/with}}
{{#with missing}}x{{else}}none{{/with}}
{{lookup request.query 'q'}}
{{lookup request.pathSegments 1}}
{{lookup request.query 'none'}}
{{#assign 'v'}}value {{request.method}}{{/assign}}[{{v}}]
{{assign 'v' 'direct'}}[{{v}}]
{{val 'x' assign='y'}}{{y}}
{{#each (array 'a' 'b' 'c')}}{{@index}}{{@first}}{{@last}}{{this}},{{/each}}
{{#each (array 'a' 'b')}}{{@index_1}}{{@odd}}{{@even}}{{/each}}
{{#each (array)}}x{{else}}empty{{/each}}
{{#each missing}}x{{else}}empty{{/each}}
{{#each (array 'a' 'b')}}{{#unless @first}}, {{/unless}}{{this}}{{/each}}
{{#each (array 'a')}}{{../request.method}}{{@root.request.method}}{{/each}}
{{#each (parseJson '{"a":1,"b":2}')}}{{@key}}={{this}};{{/each}}
{{'literal'}}
{{"literal"}}
{{12}}
{{true}}
{{upper 'a"b'}}
{{upper "a'b"}}
{{upper 'a\'b'}}
""")

# Templates that fail; only the status is compared.
BROKEN_TEMPLATES = lines(r"""
{{#if x}}
{{/if}}
{{request.method
{{nohelper 'x'}}
{{#nohelper}}x{{/nohelper}}
{{> partial}}
{{#if a}}{{/each}}
{{}}
{{upper}}
{{math 1}}
{{date 'x' format='nope'}}
{{now timezone='Nowhere/None'}}
{{now offset='3 parsecs'}}
{{now offset='soon'}}
{{range 'a' 'b'}}
{{parseJson '{nope'}}
{{truncateDate (now) 'nonsense'}}
{{randomInt lower=10 upper=5}}
{{base64 request.missing}}
{{trim request.missing}}
{{size request.missing}}
{{randomValue length='x'}}
{{regexExtract request.missing 'x'}}
{{now format='QQQ zzzz bbb'}}
""")

# Text helpers.
STRING_TEMPLATES = lines(r"""
{{trim '  a b  '}}
{{#trim}}  a b  {{/trim}}
{{upper 'aé'}}
{{lower 'AÉ'}}
{{capitalize 'hello there you'}}
{{capitalizeFirst 'hello there'}}
{{capitalize 'hELLO tHERE' fully=true}}
{{center 'x' size=5}}
{{center 'x' size=5 pad='*'}}
{{ljust 'x' size=4}}|
{{rjust 'x' size=4}}|
{{ljust 'x' size=4 pad='-'}}
{{cut 'a-b-c' '-'}}
{{defaultIfEmpty '' 'other'}}
{{defaultIfEmpty request.query.missing 'other'}}
{{defaultIfEmpty 'x' 'other'}}
{{join (array 'a' 'b') ', '}}
{{join 'a' 'b' 'c' '-'}}
{{join (array 'a' 'b') ',' prefix='<' suffix='>'}}
{{join request.query.q '+'}}
{{replace 'a-b-c' '-' '+'}}
{{replace 'a.b' '.' '+'}}
{{substring 'abcdef' 2}}
{{substring 'abcdef' 1 3}}
{{substring 'abc' 5}}
{{slugify 'Hello, World & you'}}
{{stripTags '<b>x</b>y'}}
{{{stripTags '<b>x</b>y'}}}
{{abbreviate 'Hello world there' 8}}
{{wordWrap 'aaa bbb ccc' 5}}
{{yesno true}}
{{yesno false}}
{{yesno true yes='ja' no='nein'}}
{{split 'a,b' ','}}
{{stringFormat '%s-%05d' 'x' 42}}
{{numberFormat 1234.5}}
{{numberFormat 1234.567 '###0.00'}}
{{numberFormat 0.25 'percent'}}
{{numberFormat 1234567.891 'integer'}}
{{numberFormat 12.5 'currency' 'en_US'}}
{{numberFormat 1234.5 groupingUsed=false}}
{{numberFormat 1.23456 maximumFractionDigits=2}}
{{numberFormat 1234567.891 'decimal' 'de_DE'}}
{{numberFormat 2.5 '#' roundingMode='half_up'}}
{{base64 'hello'}}
{{#base64}}hello{{/base64}}
{{base64 'aGVsbG8=' decode=true}}
{{base64 'hello' padding=false}}
{{base64 'é'}}
{{{base64 'hello'}}}
{{urlEncode 'a b&c/é'}}
{{urlEncode 'a+b%26' decode=true}}
{{urlEncode 'é' encoding='iso-8859-1'}}
{{size 'hello'}}
{{size request.query.q}}
{{size request.query}}
{{size (array 1 2 3)}}
{{size 12}}
{{regexExtract 'abc-123-def' '[0-9]+'}}
{{regexExtract request.path '/things/([0-9]+)/(.*)' 'parts'}}{{parts.0}},{{parts.1}}
{{regexExtract request.path '/things/([0-9]+)/(.*)' 'parts'}}{{parts}}
{{regexExtract 'abc' '[0-9]+'}}
{{regexExtract 'abc' '[0-9]+' default='none'}}
{{regexExtract 'abc' '('}}
{{regexExtract 'abc' '([0-9]+)' 'p'}}{{p.0}}
{{regexExtract 'a1b2' '([a-z])([0-9])' 'p'}}{{p}}
{{regexExtract 'abc' '[0-9]+' 'p' default='d'}}{{p}}
{{matches 'abc' '[a-z]+'}}
{{matches 'abc1' '[a-z]+'}}
{{#matches 'abc' 'a.*'}}yes{{/matches}}
{{#matches 'abc' 'x'}}yes{{else}}no{{/matches}}
{{#if (matches 'abc' 'a.*')}}yes{{else}}no{{/if}}
{{matches 'abc'}}
{{contains 'abc' 'b'}}
{{contains 'abc' 'x'}}
{{contains request.query.q '2'}}
{{#contains 'abc' 'b'}}yes{{/contains}}
{{contains (array 'a' 'b') 'b'}}
{{contains 'abc'}}
{{contains request.missing 'a'}}
{{dateFormat (parseDate '2021-06-14T15:15:15Z') 'yyyy/MM/dd'}}
{{formatDate '2021-06-14'}}
{{hostname}}
""")

# Conditions.
CONDITIONAL_TEMPLATES = lines(r"""
{{#eq 'a' 'a'}}y{{else}}n{{/eq}}
{{#eq 1 '1'}}y{{else}}n{{/eq}}
{{eq 1 1}}
{{eq 1 2 yes='Y' no='N'}}
{{#eq request.method 'POST'}}y{{else}}n{{/eq}}
{{#eq request.query.r 'x y'}}y{{else}}n{{/eq}}
{{#eq request.path '/things/42/a b'}}y{{else}}n{{/eq}}
{{#if (eq request.headers.X-One '1')}}y{{else}}n{{/if}}
{{#neq 'a' 'b'}}y{{else}}n{{/neq}}
{{neq 1 1}}
{{gt 2 1}}
{{gte 2 2}}
{{lt 2 1}}
{{lte 2 2}}
{{gt '10' '9'}}
{{#gt 3 2}}y{{else}}n{{/gt}}
{{and true false}}
{{and 'a' 'b'}}
{{#and (eq 1 1) (eq 2 2)}}y{{else}}n{{/and}}
{{or false 'x'}}
{{or '' false}}
{{not true}}
{{not ''}}
{{#not false}}y{{/not}}
{{not (eq 1 2)}}
{{#if (and (contains 'abc' 'a') (not (eq 1 2)))}}y{{/if}}
{{and true true yes='Y' no='N'}}
{{gt 1.5 1}}
{{eq 1.0 1}}
{{eq (size 'abc') 3}}
""")

# Numbers, ranges and arrays.
NUMBER_TEMPLATES = lines(r"""
{{math 1 '+' 2}}
{{math 1.5 '+' 2}}
{{math '3' '*' '4'}}
{{math 3 'x' 4}}
{{math 10 '/' 4}}
{{math 10.0 '/' 4}}
{{math 1 '/' 3}}
{{math 1.00 '/' 3}}
{{math 10 '-' 4}}
{{math 10 '%' 4}}
{{math 1 '^' 2}}
{{math 1 '+'}}
{{math 'x' '+' 1}}
{{math request.query.q.[0] '+' 5}}
{{math 2147483647 '+' 1}}
{{math 0.1 '+' 0.2}}
{{math 1.0 '*' 2}}
{{math -1 '+' 2}}
{{math '1e3' '+' 1}}
{{math 9223372036854775807 '+' 1}}
{{math (math 1 '+' 2) '*' 3}}
{{range 1 4}}
{{range -1 1}}
{{range 1}}
{{range 3 1}}
{{#each (range 1 3)}}{{this}};{{/each}}
{{array 1 'two' true}}
{{array}}
{{join (range 1 3) ','}}
{{isOdd 3}}
{{isEven 3}}
{{isEven 4}}
{{stripes 1}}
{{isOdd 3 'odd-class'}}
""")

# jsonPath and parseJson.
JSON_TEMPLATES = lines(r"""
{{jsonPath request.body '$.name'}}
{{jsonPath request.body '$.age'}}
{{jsonPath request.body '$.price'}}
{{jsonPath request.body '$.tags'}}
{{jsonPath request.body '$.tags[0]'}}
{{jsonPath request.body '$.tags[9]'}}
{{jsonPath request.body '$.none'}}
{{jsonPath request.body '$.yes'}}
{{jsonPath request.body '$.empty'}}
{{jsonPath request.body '$.list'}}
{{jsonPath request.body '$.address'}}
{{jsonPath request.body '$.address.city'}}
{{jsonPath request.body '$.items'}}
{{jsonPath request.body '$.items[0]'}}
{{jsonPath request.body '$.items[*].n'}}
{{jsonPath request.body '$.items[?(@.id == 2)]'}}
{{jsonPath request.body '$.items[?(@.id == 2)].n'}}
{{jsonPath request.body '$.missing'}}
{{jsonPath request.body '$..n'}}
{{jsonPath request.body '$.items.length()'}}
{{jsonPath request.body '$.text'}}
{{jsonPath request.body '$.name['}}
{{{jsonPath request.body '$.text'}}}
{{{jsonPath request.body '$.address'}}}
{{jsonPath request.body '$'}}
{{jsonPath request.body '$.missing' default='d'}}
{{jsonPath request.body '$.none' default='d'}}
{{jsonPath 'not json' '$.a'}}
{{jsonPath request.body}}
{{jsonPath request.body ''}}
{{jsonPath '' '$.a'}}
{{jsonPath request.missing '$.a'}}
{{#each (jsonPath request.body '$.items') as |i|}}{{i.id}}={{i.n}};{{/each}}
{{#each (jsonPath request.body '$.tags')}}{{@index}}{{this}}{{/each}}
{{size (jsonPath request.body '$.tags')}}
{{#each (jsonPath request.body '$.address')}}{{@key}}:{{this}};{{/each}}
{{join (jsonPath request.body '$.tags') '-'}}
{{#with (jsonPath request.body '$.address')}}{{city}}{{/with}}
{{lookup (jsonPath request.body '$.address') 'zip'}}
{{#if (jsonPath request.body '$.yes')}}y{{else}}n{{/if}}
{{#if (jsonPath request.body '$.missing')}}y{{else}}n{{/if}}
{{upper (jsonPath request.body '$.name')}}
{{math (jsonPath request.body '$.age') '+' 1}}
{{parseJson '{"a": {"b": [1, 2.50]}}' 'v'}}{{v.a.b.[1]}} {{v}}
{{parseJson request.body 'v'}}{{v.address.city}}
{{#parseJson 'v'}}{"a": "{{request.method}}"}{{/parseJson}}{{v.a}}
{{parseJson '[1,2]' 'v'}}{{v.[1]}}{{v.1}}
{{parseJson '{}' 'v'}}[{{v}}]
{{parseJson '{"a":1}'}}
{{parseJson}}
{{lookup (parseJson '{"a":1}') 'a'}}
{{jsonPath (parseJson '{"a":{"b":1}}') '$.a'}}
{{jsonPath request.body '$.items[0].n'}}
{{size (parseJson '{"a":1,"b":2}')}}
""")

# xPath, on XML_REQUEST.
XML_TEMPLATES = lines(r"""
{{xPath request.body '/order/item/name/text()'}}
{{xPath request.body '/order/item[2]/name/text()'}}
{{xPath request.body '/order/item[1]'}}
{{xPath request.body '/order/@id'}}
{{xPath request.body '//name'}}
{{xPath request.body '//x'}}
{{xPath request.body '//note'}}
{{xPath request.body 'count(//item)'}}
{{xPath request.body 'string(//name)'}}
{{xPath request.body '//item['}}
{{xPath request.body '//*[local-name()="x"]/text()'}}
{{xPath request.body '//x/text()'}}
{{{xPath request.body '/order/item[2]/name/text()'}}}
{{{xPath request.body '/order/item[1]'}}}
{{xPath 'not xml' '/a'}}
{{xPath request.body}}
{{xPath '' '/a'}}
{{xPath request.missing '/a'}}
{{#each (xPath request.body '/order/item') as |i|}}{{xPath i '/item/name/text()'}};{{/each}}
{{#each (xPath request.body '//name') as |i|}}{{i.text}};{{i.name}};{{/each}}
{{#with (xPath request.body '/order')}}{{attributes.id}} {{name}}{{/with}}
{{#each (xPath request.body '/order/@*')}}{{this}}{{/each}}
""")

# soapXPath, on SOAP_REQUEST.
SOAP_TEMPLATES = lines(r"""
{{soapXPath request.body '/a/b/text()'}}
{{soapXPath request.body '/x'}}
{{{soapXPath request.body 'a/b'}}}
{{soapXPath request.body 'a/b/text()'}}
""")

# formData, on FORM_REQUEST.
FORM_TEMPLATES = lines(r"""
{{formData request.body 'form'}}{{form.item1}}
{{formData request.body 'form' urlDecode=true}}{{form.item1}}
{{formData request.body 'form' urlDecode=true}}{{form.item1.[1]}}
{{formData request.body 'form'}}{{form.item2}}
{{formData request.body 'form' urlDecode=true}}{{form.item2}}
{{formData request.body 'form'}}[{{form.flag}}]
{{formData request.body 'form'}}[{{form.empty}}]
{{formData request.body 'form'}}{{form.x}}
{{formData request.body}}
{{lookup (formData request.body) 'item2'}}
{{formData request.body 'form'}}{{form}}
{{#each (formData request.body urlDecode=true)}}{{@key}}={{this}};{{/each}}
""")

# Dates; (D) stands for DATE.
DATE = "(parseDate '2021-06-14T15:16:17Z')"
DATE_TEMPLATES = [text.replace("(D)", DATE) for text in lines(r"""
{{date (D)}}
{{parseDate '2021-06-14T15:16:17Z'}}
{{parseDate '2021-06-14T15:16:17+02:00'}}
{{parseDate '2021-06-14'}}
{{parseDate 'nonsense'}}
{{parseDate 'Mon, 14 Jun 2021 15:15:15 GMT'}}
{{parseDate 'Mon Jun 14 15:15:15 2021'}}
{{parseDate 'Monday, 14-Jun-21 15:15:15 GMT'}}
{{parseDate '14/06/2021' format='dd/MM/yyyy'}}
{{parseDate '14/06/2021 10:11' format='dd/MM/yyyy HH:mm'}}
{{parseDate '2021' format='yyyy'}}
{{parseDate '06/2021' format='MM/yyyy'}}
{{parseDate '1623672000' format='unix'}}
{{parseDate '1623672000123' format='epoch'}}
{{parseDate '14/06/2021' format='yyyy-MM-dd'}}
{{parseDate '2021-06-14T15:16:17.123Z'}}
{{date (D) format='yyyy-MM-dd'}}
{{date (D) format='yyyy-MM-dd HH:mm:ss.SSS'}}
{{date (D) format='EEEE, d MMMM yyyy'}}
{{date (D) format='EEE, dd MMM yy hh:mm a z'}}
{{date (D) format='epoch'}}
{{date (D) format='unix'}}
{{date (D) format='XXX'}}
{{date (D) format='Z'}}
{{date (D) format='D w W F E u'}}
{{date (D) format='''yyyy'''}}
{{date (D) format='yyyy-MM-dd\'T\'HH:mm'}}
{{date (D) format='k K h H'}}
{{date (D) format='G'}}
{{date (D) format='X XX XXX'}}
{{date (D) format='M MM MMM MMMM'}}
{{date (D) format='y yy yyyy'}}
{{date (D) format='YYYY'}}
{{date (D) format='S SS'}}
{{date (D) format='zzzz'}}
{{date (D) offset='3 days' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='-3 days' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='1 months' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='-1 years' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='25 hours' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='90 minutes' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='-10 seconds' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='now +1 days' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='now -1 days' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='+2 days' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='3 DAYS' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) offset='20 months' format='yyyy-MM-dd HH:mm:ss'}}
{{date (D) timezone='Australia/Sydney' format='yyyy-MM-dd HH:mm z'}}
{{date (D) timezone='Europe/Rome' format='yyyy-MM-dd HH:mm z'}}
{{date (D) timezone='UTC' format='yyyy-MM-dd HH:mm z'}}
{{date (D) timezone='+02:00' format='yyyy-MM-dd HH:mm z'}}
{{date (parseDate '2021-01-31T00:00:00Z') offset='1 months'}}
{{date (parseDate '2020-02-29T00:00:00Z') offset='1 years'}}
{{date (parseDate '2021-06-14T15:16:17+02:00') format='HH:mm XXX'}}
{{date (truncateDate (D) 'first second of minute')}}
{{date (truncateDate (D) 'first minute of hour')}}
{{date (truncateDate (D) 'first hour of day')}}
{{date (truncateDate (D) 'first day of month')}}
{{date (truncateDate (D) 'first day of next month')}}
{{date (truncateDate (D) 'last day of month')}}
{{date (truncateDate (D) 'first day of year')}}
{{date (truncateDate (D) 'first day of next year')}}
{{date (truncateDate (D) 'last day of year')}}
{{truncateDate 'x' 'first day of month'}}
{{truncateDate (D)}}
{{truncateDate (D) 'FIRST_DAY_OF_MONTH'}}
""")]

# systemValue.
SYSTEM_TEMPLATES = lines(r"""
{{systemValue key='PATH'}}
{{systemValue key='wiremock.none' type='PROPERTY'}}
{{systemValue}}
{{systemValue key='java.version' type='PROPERTY'}}
""")

HEX, ISO = "[0-9a-f]", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
# Random values and the clock: template, and the regular expression that both answers have to match in full.
RANDOM_TEMPLATES = [
    ("{{randomValue}}", "[a-z0-9]{36}"),
    ("{{randomValue length=10 type='ALPHANUMERIC'}}", "[a-z0-9]{10}"),
    ("{{randomValue length=10 type='ALPHANUMERIC' uppercase=true}}", "[A-Z0-9]{10}"),
    ("{{randomValue length=10 type='ALPHABETIC'}}", "[a-z]{10}"),
    ("{{randomValue length=10 type='ALPHABETIC' uppercase=true}}", "[A-Z]{10}"),
    ("{{randomValue length=10 type='NUMERIC'}}", "[0-9]{10}"),
    ("{{{randomValue length=10 type='ALPHANUMERIC_AND_SYMBOLS'}}}", "[!-~]{10}"),
    ("{{randomValue type='UUID'}}", HEX + "{8}-" + HEX + "{4}-4" + HEX + "{3}-[89ab]" + HEX + "{3}-" + HEX + "{12}"),
    ("{{randomValue type='UUID' uppercase=true}}", "[0-9A-F-]{36}"),
    ("{{randomValue length=8 type='HEXADECIMAL'}}", HEX + "{8}"),
    ("{{randomValue length=8 type='HEXADECIMAL' uppercase=true}}", "[0-9A-F]{8}"),
    ("{{randomValue length=0}}", ""),
    ("{{{randomValue length=8 type='OTHER'}}}", "[ -~]{8}"),
    ("{{randomInt}}", "-?[0-9]{1,10}"),
    ("{{randomInt lower=5 upper=9}}", "[5-8]"),
    ("{{randomInt upper=0}}", "-[0-9]+"),
    ("{{randomInt lower='5' upper='6'}}", "5"),
    ("{{randomDecimal lower=1.5 upper=1.6}}", r"1\.5[0-9]*"),
    ("{{randomDecimal}}", r"[0-9.]+(E[0-9]+)?"),
    ("{{pickRandom 'a' 'b' 'c'}}", "[abc]"),
    ("{{pickRandom (array 1 2 3)}}", "[123]"),
    ("{{pickRandom request.query.q}}", "[12]"),
    ("{{now}}", ISO + "Z"),
    ("{{now timezone='Europe/Rome'}}", ISO + r"\+0[12]:00"),
    ("{{now timezone='UTC'}}", ISO + "Z"),
    ("{{now format='yyyy-MM-dd'}}", r"\d{4}-\d\d-\d\d"),
    ("{{date}}", ISO + "Z"),
    ("{{now offset='3 days'}}", ISO + "Z"),
    ("{{now format='HH:mm:ss z' timezone='Australia/Sydney'}}", r"\d\d:\d\d:\d\d AE[DS]T"),
]
# The clock: template, and how far the two numbers may be apart.
CLOCK_TEMPLATES = [
    ("{{now format='epoch'}}", 5000),
    ("{{now format='unix'}}", 5),
    ("{{now offset='3 days' format='epoch'}}", 5000),
    ("{{now offset='-1 years' format='unix'}}", 5),
    ("{{now offset='10 seconds' format='unix'}}", 5),
    ("{{now offset='now +2 months' format='unix'}}", 5),
    ("{{date (now) offset='1 hours' format='unix'}}", 5),
]
