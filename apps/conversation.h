#pragma once

#include <string>

#include "text/value.h"

namespace tercet {

/// The JSON object that ChatTemplate::render takes; `tools` is none where there are none.
std::string conversation_json(const jinja::Value& messages, const jinja::Value& tools, bool enable_thinking);

}  // namespace tercet
