#include "format/dtype.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/float_types.h"

namespace tercet {
namespace {

struct Description {
  std::string_view name;
  int64_t size;
};

constexpr std::array<Description, 15> kDescriptions = {{{"BOOL", 1},
                                                        {"U8", 1},
                                                        {"I8", 1},
                                                        {"F8_E4M3", 1},
                                                        {"F8_E5M2", 1},
                                                        {"I16", 2},
                                                        {"U16", 2},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I32", 4},
                                                        {"U32", 4},
                                                        {"F32", 4},
                                                        {"I64", 8},
                                                        {"U64", 8},
                                                        {"F64", 8}}};

template <class Stored, class Convert>
void convert(const std::byte* source, int64_t count, float* out, Convert one) {
  for (int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, source + i * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = one(value);
  }
}

}  // namespace

int64_t size_of(DType dtype) {
  return kDescriptions[static_cast<size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) {
  return kDescriptions[static_cast<size_t>(dtype)].name;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (size_t i = 0; i < kDescriptions.size(); ++i) {
    if (kDescriptions[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_float(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kF8E4M3;
}

void to_floats(DType dtype, const std::byte* source, int64_t count, float* out) {
  switch (dtype) {
    case DType::kBF16:
      return convert<uint16_t>(source, count, out, bf16_to_float);
    case DType::kF16:
      return convert<uint16_t>(source, count, out, fp16_to_float);
    case DType::kF32:
      std::memcpy(out, source, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::kF64:
      return convert<double>(source, count, out, [](double x) { return static_cast<float>(x); });
    case DType::kF8E4M3:
      return convert<uint8_t>(source, count, out, e4m3_to_float);
    default:
      TERCET_CHECK(is_float(dtype));
  }
}

}  // namespace tercet
