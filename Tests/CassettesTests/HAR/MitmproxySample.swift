/// Written by mitmproxy 11.0.2 (`hardump`), with its hosts and addresses replaced.
let mitmproxySample = #"""
  {"log": {"version": "1.2", "creator": {"name": "mitmproxy", "version": "11.0.2", "comment": ""}, "pages": [], "entries": [
    {"startedDateTime": "2026-11-20T05:50:57.656087+00:00",
     "time": 3.596067428588867,
     "request": {"method": "GET", "url": "http://clinic.example.com/json?q=a%20b&q=c+d", "httpVersion": "HTTP/1.1", "cookies": [{"name": "k", "value": "v"}, {"name": "q", "value": "w"}], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Cookie", "value": "k=v; q=\"w\""}], "queryString": [{"name": "q", "value": "a b"}, {"name": "q", "value": "c d"}], "headersSize": 120, "bodySize": 0},
     "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [{"name": "a", "value": "1", "path": "/", "domain": "", "httpOnly": true, "secure": false}, {"name": "b", "value": "2", "path": "/", "domain": "", "httpOnly": false, "secure": false}], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Content-Type", "value": "application/json"}, {"name": "Content-Encoding", "value": "gzip"}, {"name": "Set-Cookie", "value": "a=1; Path=/; HttpOnly"}, {"name": "Set-Cookie", "value": "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"}, {"name": "Content-Length", "value": "49"}], "content": {"size": 49, "compression": -18, "mimeType": "application/json", "text": "{\"name\": \"Zo\u00eb\", \"price\": 0.00}"}, "redirectURL": "", "headersSize": 303, "bodySize": 49},
     "cache": {},
     "timings": {"connect": 0.26226043701171875, "ssl": -1.0, "send": 0.3376007080078125, "receive": 0.23484230041503906, "wait": 2.761363983154297},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.672167+00:00",
     "time": 3.6165714263916016,
     "request": {"method": "GET", "url": "http://clinic.example.com/bin", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}], "queryString": [], "headersSize": 92, "bodySize": 0},
     "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Content-Type", "value": "image/png"}, {"name": "Content-Length", "value": "4"}], "content": {"size": 4, "compression": 0, "mimeType": "image/png", "text": "AP+JUA==", "encoding": "base64"}, "redirectURL": "", "headersSize": 156, "bodySize": 4},
     "cache": {},
     "timings": {"connect": 0.1342296600341797, "ssl": -1.0, "send": 0.22840499877929688, "receive": 0.4825592041015625, "wait": 2.7713775634765625},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.685885+00:00",
     "time": 1.7707347869873047,
     "request": {"method": "POST", "url": "http://clinic.example.com/form", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Content-Length", "value": "19"}, {"name": "Content-Type", "value": "application/x-www-form-urlencoded"}], "queryString": [], "headersSize": 177, "bodySize": 19, "postData": {"mimeType": "application/x-www-form-urlencoded", "text": "user=zo%C3%AB&x=1+2", "params": [{"name": "user", "value": "zo\u00eb"}, {"name": "x", "value": "1 2"}]}},
     "response": {"status": 303, "statusText": "See Other", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Location", "value": "/json"}, {"name": "Content-Length", "value": "0"}], "content": {"size": 0, "compression": 0, "mimeType": "", "text": ""}, "redirectURL": "/json", "headersSize": 148, "bodySize": 0},
     "cache": {},
     "timings": {"connect": 0.33283233642578125, "ssl": -1.0, "send": 0.2884864807128906, "receive": 0.2071857452392578, "wait": 0.942230224609375},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.700234+00:00",
     "time": 3.1478404998779297,
     "request": {"method": "POST", "url": "http://clinic.example.com/upload", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Content-Type", "value": "application/octet-stream"}, {"name": "Content-Length", "value": "3"}], "queryString": [], "headersSize": 167, "bodySize": 3, "postData": {"mimeType": "application/octet-stream", "text": "\u0000\u0001\u00ff", "params": []}},
     "response": {"status": 303, "statusText": "See Other", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Location", "value": "/json"}, {"name": "Content-Length", "value": "0"}], "content": {"size": 0, "compression": 0, "mimeType": "", "text": ""}, "redirectURL": "/json", "headersSize": 148, "bodySize": 0},
     "cache": {},
     "timings": {"connect": 0.14543533325195312, "ssl": -1.0, "send": 0.2522468566894531, "receive": 0.20313262939453125, "wait": 2.547025680541992},
     "serverIPAddress": "192.0.2.7"}
  ]}}
  """#
