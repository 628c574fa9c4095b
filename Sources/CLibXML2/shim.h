#pragma once
// libxml2, for XPath and comparisons of XML bodies.
#if !__has_include(<libxml/parser.h>)
#error "libxml2 is missing. Debian, Ubuntu: apt-get install libxml2-dev. Homebrew: brew install libxml2"
#endif
// Debian's libxml2 is built with ICU, whose headers define the same types as Foundation's own ICU. Only the encoding
// handlers differ without it, and nothing here uses them.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

// A variable in C, which Swift takes for shared state.
static inline void diorama_xml_free(void *memory) { xmlFree(memory); }
