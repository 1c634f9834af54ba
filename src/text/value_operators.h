#pragma once

#include <cstddef>

#include "text/value.h"

namespace tercet::jinja {

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

/// a OP b as Python computes it; fails with Python's message.
Value arithmetic(Operator op, const Value& a, const Value& b, Budget& budget);
Value negative(const Value& value);
Value positive(const Value& value);

/// a OP b as Python computes it; fails with Python's message.
bool compare(Comparison op, const Value& a, const Value& b, Budget& budget);
bool equal(const Value& a, const Value& b, Budget& budget);
/// `element in container`.
bool contains(const Value& container, const Value& element, Budget& budget);
/// Equal values have equal hashes; fails for lists and dicts.
size_t hash_of(const Value& value, Budget& budget);
size_t hash_of(std::string_view text);

}  // namespace tercet::jinja
