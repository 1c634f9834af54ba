#include "text/jinja_format.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_format_spec.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_unicode.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// One run of the % operator.
class PercentFormatter {
 public:
  PercentFormatter(const std::string& format, const Value& values, Budget& budget)
      : format_(format), values_(values), budget_(budget) {}

  std::string run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) conversion();
      budget_.grown(static_cast<int64_t>(out_.size()));
    }
    const bool unused = values_.kind() == Value::Kind::kTuple ? used_ < values_.items().size() : used_ == 0;
    if (unused && !is_mapping()) fail("not all arguments converted during string formatting");
    budget_.text(static_cast<int64_t>(out_.size()));
    return std::move(out_);
  }

 private:
  /// What Python lets stand for keys: anything with item access but tuples and text.
  bool is_mapping() const {
    return values_.is_dict() || values_.is_undefined() || values_.kind() == Value::Kind::kList ||
           values_.is_object();
  }

  char next() {
    if (at_ >= format_.size()) fail("incomplete format");
    return format_[at_++];
  }

  Value argument() {
    if (keyed_) return key_value_;
    if (values_.kind() != Value::Kind::kTuple) {
      if (used_++ > 0) fail("not enough arguments for format string");
      return values_;
    }
    if (used_ >= values_.items().size()) fail("not enough arguments for format string");
    return values_.items()[used_++];
  }

  void key() {
    if (!values_.is_dict()) fail("format requires a mapping");
    const size_t close = format_.find(')', at_);
    if (close == std::string::npos) fail("incomplete format key");
    const std::string name = format_.substr(at_, close - at_);
    const Value* found = values_.as_dict().find(std::string_view(name));
    if (found == nullptr) fail("'" + name + "'");
    key_value_ = *found;
    keyed_ = true;
    at_ = close + 1;
  }

  /// Digits, or a star that takes an argument.
  int64_t number() {
    if (at_ < format_.size() && format_[at_] == '*') {
      ++at_;
      const auto value = argument().integer();
      if (!value) fail("* wants int");
      return static_cast<int64_t>(std::clamp<Int>(*value, -INT32_MAX, INT32_MAX));
    }
    int64_t value = 0;
    while (at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9') {
      value = std::min<int64_t>(value * 10 + (format_[at_++] - '0'), INT32_MAX);
    }
    return value;
  }

  void flags(FormatSpec& spec) {
    bool zero = false;
    for (;; ++at_) {
      const char c = at_ < format_.size() ? format_[at_] : '\0';
      if (c == '-')
        spec.align = '<';
      else if (c == '+')
        spec.sign = '+';
      else if (c == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (c == '#')
        spec.alternate = true;
      else if (c == '0')
        zero = true;
      else
        break;
    }
    if (zero && spec.align == '\0') {
      spec.align = '=';
      spec.fill = '0';
    }
  }

  void conversion() {
    ++at_;
    keyed_ = false;
    if (at_ < format_.size() && format_[at_] == '(') {
      ++at_;
      key();
    }
    FormatSpec spec;
    flags(spec);
    spec.width = number();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(number(), 0);
    }
    while (at_ < format_.size() && (format_[at_] == 'h' || format_[at_] == 'l' || format_[at_] == 'L')) ++at_;
    spec.type = next();
    if (spec.type == '%') {
      out_ += '%';
    } else {
      convert(spec);
    }
  }

  void convert(FormatSpec spec);
  Int whole(const Value& value, char type) const;

  const std::string& format_;
  const Value& values_;
  Budget& budget_;
  std::string out_;
  size_t at_ = 0;
  size_t used_ = 0;
  bool keyed_ = false;
  Value key_value_;
};

Int PercentFormatter::whole(const Value& value, char type) const {
  if (const auto number = value.integer()) return *number;
  const std::string lead = std::string("%") + type + " format: ";
  if (type != 'd') fail(lead + "an integer is required, not " + value.type_name());
  if (!value.is_float()) fail(lead + "a real number is required, not " + value.type_name());
  if (!(std::fabs(value.as_float()) < 0x1p126))
    fail("cannot convert float " + float_text(value.as_float()) + " to integer");
  return static_cast<Int>(value.as_float());
}

void PercentFormatter::convert(FormatSpec spec) {
  const Value value = argument();
  const auto as_text = [&](std::string_view text) {
    spec.fill = ' ';
    if (spec.align != '<') spec.align = '>';
    out_ += format_text(text, spec, budget_);
  };
  switch (spec.type) {
    case 's':
      return as_text(to_text(value, budget_));
    case 'r':
      return as_text(repr(value, budget_));
    case 'c':
      if (value.is_string()) {
        if (code_point_count(value.as_string()) != 1) fail("%c requires int or char");
        return as_text(value.as_string());
      }
      out_ += format_int(whole(value, 'c'), spec, budget_);
      return;
    case 'd':
    case 'i':
    case 'u':
      spec.type = 'd';
      [[fallthrough]];
    case 'x':
    case 'X':
    case 'o':
      out_ += format_int(whole(value, spec.type), spec, budget_);
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': {
      const auto number = value.number();
      if (!number) fail("must be real number, not " + value.type_name());
      out_ += format_float(*number, spec, budget_);
      return;
    }
    default:
      fail(std::string("unsupported format character '") + spec.type + "'");
  }
}

}  // namespace

std::string percent_format(const std::string& format, const Value& values, Budget& budget) {
  return PercentFormatter(format, values, budget).run();
}

}  // namespace tercet::jinja
