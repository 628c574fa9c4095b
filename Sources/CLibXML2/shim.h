#pragma once
// libxml2, for XPath and comparisons of XML bodies.
#if !__has_include(<libxml/parser.h>)
#error "libxml2 is missing. Debian, Ubuntu: apt-get install libxml2-dev. Homebrew: brew install libxml2"
#endif
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
