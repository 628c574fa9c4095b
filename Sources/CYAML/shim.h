#pragma once
// libyaml: the cassettes of VCR and vcrpy are YAML 1.1. Only its events are used; its documents copy every scalar.
#include <yaml.h>
