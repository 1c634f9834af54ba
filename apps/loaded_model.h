#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "options.h"
#include "text/tokenizer.h"

namespace tercet {

/// A model ready for steps of one size, and what it lives on.
struct LoadedModel {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Model> model;
  double seconds = 0;  // that loading took
};

/// Opens the backend that `options` ask for and binds the checkpoint's weights on it, with `mtp` the draft
/// head too.
LoadedModel load_model(const CommonOptions& options, std::unique_ptr<Checkpoint> checkpoint,
                       const StepSize& size, bool mtp = false);

/// The tokenizer of a checkpoint. Throws Error(kCheckpoint) if it has more tokens than the model has rows.
Tokenizer load_tokenizer(const Checkpoint& checkpoint);

}  // namespace tercet
