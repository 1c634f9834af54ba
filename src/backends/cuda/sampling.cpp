#include <algorithm>

#include "backends/cuda/cuda_backend.h"

/// Sampling on the host's side: the rows' requests are known there, so each row gets the kernels that it
/// needs.
namespace tercet::cuda {
namespace {

constexpr uint8_t kRepeated = 1;
constexpr uint8_t kGenerated = 2;

DrawParams draw_params(const SamplingRow& row, int64_t vocab) {
  const SamplingParams& p = row.params;
  return {p.temperature,
          p.top_p,
          p.min_p,
          p.presence_penalty,
          p.repetition_penalty,
          p.top_k > 0 ? std::min(p.top_k, vocab) : vocab,
          uniform(p.seed, row.counter)};
}

void mark(std::span<const int32_t> ids, uint8_t bits, std::vector<uint8_t>& seen) {
  for (const int32_t id : ids) {
    if (id >= 0 && id < static_cast<int64_t>(seen.size())) seen[static_cast<size_t>(id)] |= bits;
  }
}

}  // namespace

void CudaBackend::plan_sampling(int64_t vocab) {
  const int64_t sort_bytes = sort_scratch_bytes(vocab);
  const int64_t bytes_per_id = sizeof(double) + 4 * sizeof(float) + 1;
  sample_memory_ = device_memory(sort_bytes + vocab * bytes_per_id + 256);
  seen_.assign(static_cast<size_t>(vocab), 0);
  // By falling alignment: the sort's 256 bytes, then doubles, then floats and ids, then bytes.
  std::byte* next = static_cast<std::byte*>(sample_memory_.get());
  const auto take = [&](int64_t bytes) {
    std::byte* part = next;
    next += bytes;
    return part;
  };
  sample_scratch_.sort_bytes = sort_bytes;
  sample_scratch_.sort = take((sort_bytes + 255) / 256 * 256);
  sample_scratch_.weights = reinterpret_cast<double*>(take(vocab * 8));
  sample_scratch_.logits = reinterpret_cast<float*>(take(vocab * 4));
  sample_scratch_.sorted_logits = reinterpret_cast<float*>(take(vocab * 4));
  sample_scratch_.ids = reinterpret_cast<int32_t*>(take(vocab * 4));
  sample_scratch_.sorted_ids = reinterpret_cast<int32_t*>(take(vocab * 4));
  seen_on_device_ = reinterpret_cast<uint8_t*>(take(vocab));
}

const uint8_t* CudaBackend::upload_seen(const SamplingRow& row, int64_t vocab, cudaStream_t stream) {
  if (row.params.repetition_penalty == 1.0F && row.params.presence_penalty == 0.0F) return nullptr;
  std::fill(seen_.begin(), seen_.end(), uint8_t{0});
  mark(row.prompt, kRepeated, seen_);
  mark(row.generated, kRepeated | kGenerated, seen_);
  // From pageable memory the copy has read its source when it returns, so the next row may use it again.
  check(cudaMemcpyAsync(seen_on_device_, seen_.data(), static_cast<size_t>(vocab), cudaMemcpyHostToDevice,
                        stream),
        "cudaMemcpyAsync of seen tokens");
  return seen_on_device_;
}

void CudaBackend::do_sample(const TensorView& logits, const SamplingBatch& batch, TensorView token) {
  TERCET_CHECK_LE(logits.cols, limits_.vocab);
  const int64_t vocab = batch.real_vocab > 0 ? std::min(batch.real_vocab, logits.cols) : logits.cols;
  const cudaStream_t on = stream();
  for (int64_t i = 0; i < logits.rows; ++i) {
    const SamplingRow& row = batch.rows[static_cast<size_t>(i)];
    const uint8_t* seen = upload_seen(row, vocab, on);
    cuda::sample(on, logits.f32() + i * logits.cols, vocab, seen, draw_params(row, vocab), sample_scratch_,
                 token.i32() + i);
  }
}

}  // namespace tercet::cuda
