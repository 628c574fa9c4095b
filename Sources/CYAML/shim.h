#pragma once
// libyaml: the cassettes of VCR and vcrpy are YAML 1.1. Only its events are used; its documents copy every scalar.
#if !__has_include(<yaml.h>)
#error "libyaml is missing. Debian, Ubuntu: apt-get install libyaml-dev. Homebrew: brew install libyaml"
#endif
#include <yaml.h>
