#include "text/jinja_budget.h"

#include "base/error.h"

namespace tercet::jinja {

void fail(const std::string& message) {
  throw Error(ErrorKind::kUsage, message);
}

void Budget::text(int64_t bytes) {
  grown(bytes);
  total_ += bytes;
  if (total_ > limits_.total_bytes) {
    fail("the template makes more than " + std::to_string(limits_.total_bytes) +
         " bytes of text in total; use a simpler template or a shorter conversation");
  }
}

void Budget::fail_steps() const {
  fail("the template takes more than " + std::to_string(limits_.steps) +
       " steps; use a simpler template or a shorter conversation");
}

void Budget::fail_text() const {
  fail("the template makes a text of more than " + std::to_string(limits_.text_bytes) +
       " bytes; use a simpler template or a shorter conversation");
}

void Budget::fail_depth() const {
  fail("the template is nested or calls itself more than " + std::to_string(limits_.depth) +
       " levels deep; use a simpler template");
}

}  // namespace tercet::jinja
