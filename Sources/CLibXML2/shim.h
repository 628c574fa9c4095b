#pragma once
// libxml2, for XPath and comparisons of XML bodies.
#if !__has_include(<libxml/parser.h>)
#error "libxml2 is missing. Debian, Ubuntu: apt-get install libxml2-dev. Homebrew: brew install libxml2"
#endif
#include <libxml/xmlversion.h>
// With ICU, encoding.h includes the headers of the system's ICU, which clash with those of Foundation's. They only add
// members to xmlCharEncodingHandler, which is not used here.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

// "Function to reset the handler and the error context for out of context error messages": on this thread, XPath no longer
// prints unknown functions to standard error. In C, since Swift has no functions with a variable number of arguments.
static void cLibXML2Ignore(void *context, const char *message, ...) {
  (void)context;
  (void)message;
}
static inline void cLibXML2Silence(void) { xmlSetGenericErrorFunc(NULL, cLibXML2Ignore); }

// A variable in C, which Swift takes for shared state.
static inline void cLibXML2Free(void *memory) { xmlFree(memory); }
