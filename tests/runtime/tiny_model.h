#pragma once

#include <memory>

#include "model/model.h"
#include "runtime/generator.h"
#include "support/backends.h"

namespace tercet {

/// A random hybrid model small enough to run thousands of steps: three GDN layers and an attention layer with
/// experts.
struct TinyModel {
  TinyModel(const BackendCase& which, const StepSize& size, int bits = 16);

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
};

/// `length` token ids from `seed`.
std::vector<int32_t> random_tokens(int64_t length, uint64_t seed);

inline constexpr int64_t kTinyVocab = 96;

}  // namespace tercet
