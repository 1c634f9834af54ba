#pragma once

#include "text/value.h"

namespace tercet::jinja {

/// value[start:stop:step] of text, a list, a tuple or a range; None leaves a bound open.
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget);

/// text[index], list[index] or tuple[index], from the end where negative; missing where there is none.
Value element(const Value& value, Int index, Budget& budget);

}  // namespace tercet::jinja
