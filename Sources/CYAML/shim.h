#pragma once
// libyaml: the cassettes of VCR and vcrpy are YAML 1.1. Its events alone are used; its documents copy every scalar.
#include <yaml.h>
