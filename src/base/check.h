#pragma once

#include <sstream>
#include <string>

namespace tercet::internal {

/// Prints `expression`, both values and the place to standard error, then aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression, const std::string& values);

template <class A, class B>
std::string both_values(const A& a, const B& b) {
  std::ostringstream text;
  text << a << " and " << b;
  return text.str();
}

}  // namespace tercet::internal

/// Programmer errors only: stops the program. What a file or a user can get wrong throws tercet::Error
/// instead.
#define TERCET_CHECK(condition)                                                             \
  do {                                                                                      \
    if (!(condition)) ::tercet::internal::check_failed(__FILE__, __LINE__, #condition, ""); \
  } while (false)

#define TERCET_CHECK_OP(a, op, b)                                                          \
  do {                                                                                     \
    const auto& check_a = (a);                                                             \
    const auto& check_b = (b);                                                             \
    if (!(check_a op check_b))                                                             \
      ::tercet::internal::check_failed(__FILE__, __LINE__, #a " " #op " " #b,              \
                                       ::tercet::internal::both_values(check_a, check_b)); \
  } while (false)

#define TERCET_CHECK_EQ(a, b) TERCET_CHECK_OP(a, ==, b)
#define TERCET_CHECK_LE(a, b) TERCET_CHECK_OP(a, <=, b)
#define TERCET_CHECK_LT(a, b) TERCET_CHECK_OP(a, <, b)
