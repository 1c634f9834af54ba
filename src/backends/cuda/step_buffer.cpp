#include "backends/cuda/step_buffer.h"

#include <algorithm>

namespace tercet::cuda {
namespace {

constexpr int64_t kSpanWords = sizeof(SpanView) / sizeof(int32_t);

}  // namespace

StepBuffer::StepBuffer(const StepLimits& limits)
    : row_span_(limits.rows),
      row_position_(row_span_ + limits.rows),
      logit_rows_(row_position_ + limits.rows),
      pages_(logit_rows_ + limits.logit_rows),
      spans_(pages_ + limits.pages),
      words_(spans_ + limits.sequences * kSpanWords),
      staging_(pinned_memory(words_ * 4)),
      memory_(device_memory(words_ * 4)),
      copied_(make_event()) {
  std::fill_n(host(0), words_, 0);
  const int32_t* device = static_cast<const int32_t*>(memory_.get());
  view_.tokens = device;
  view_.row_span = device + row_span_;
  view_.row_position = device + row_position_;
  view_.logit_rows = device + logit_rows_;
  view_.pages = device + pages_;
  view_.spans = reinterpret_cast<const SpanView*>(device + spans_);
}

void StepBuffer::upload(const Step& step, cudaStream_t stream) {
  check(cudaEventSynchronize(copied_.get()), "cudaEventSynchronize");
  std::copy(step.tokens.begin(), step.tokens.end(), host(0));
  std::copy(step.logit_rows.begin(), step.logit_rows.end(), host(logit_rows_));
  std::copy(step.pages.begin(), step.pages.end(), host(pages_));
  SpanView* spans = reinterpret_cast<SpanView*>(host(spans_));
  for (size_t s = 0; s < step.sequences.size(); ++s) {
    const SequenceSpan& span = step.sequences[s];
    spans[s] = {static_cast<int32_t>(span.first_row), static_cast<int32_t>(span.rows),
                static_cast<int32_t>(span.position), static_cast<int32_t>(span.slot),
                static_cast<int32_t>(span.first_page)};
    for (int64_t r = 0; r < span.rows; ++r) {
      *host(row_span_ + span.first_row + r) = static_cast<int32_t>(s);
      *host(row_position_ + span.first_row + r) = static_cast<int32_t>(span.position + r);
    }
  }
  view_.rows = step.rows();
  view_.span_count = static_cast<int64_t>(step.sequences.size());
  view_.logit_count = static_cast<int64_t>(step.logit_rows.size());
  check(cudaMemcpyAsync(memory_.get(), staging_.get(), static_cast<size_t>(words_ * 4),
                        cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync of the step");
  check(cudaEventRecord(copied_.get(), stream), "cudaEventRecord");
}

}  // namespace tercet::cuda
