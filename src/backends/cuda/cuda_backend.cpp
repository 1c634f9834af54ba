#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/state.h"
#include "backends/cuda/weights.h"

namespace tercet::cuda {
namespace {

Stream stream_on(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  return make_stream();
}

DeviceMemory zeroed(int64_t bytes, cudaStream_t stream) {
  DeviceMemory memory = device_memory(bytes);
  check(cudaMemsetAsync(memory.get(), 0, static_cast<size_t>(bytes), stream), "cudaMemsetAsync");
  return memory;
}

void copy_on_device(void* to, const void* from, int64_t floats, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(floats) * sizeof(float), cudaMemcpyDeviceToDevice,
                        stream),
        "cudaMemcpyAsync on the device");
}

const CudaState& ours(const State& state) {
  return static_cast<const CudaState&>(state);
}
const MatrixView* stack_of(const PreparedWeight& weight) {
  return static_cast<const CudaWeight&>(weight).stack();
}

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device), stream_(stream_on(device)) {}

cudaStream_t CudaBackend::stream() const {
  check(cudaSetDevice(device_), "cudaSetDevice");  // the device is a property of the calling thread
  return stream_.get();
}

std::string CudaBackend::description() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
  return "cuda (" + std::string(properties.name) + ")";
}

Buffer CudaBackend::allocate(int64_t bytes) {
  return zeroed(bytes, stream());
}

void CudaBackend::upload(void* destination, const void* source, int64_t bytes) {
  const cudaStream_t on = stream();
  check(cudaMemcpyAsync(destination, source, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, on),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(on), "cudaStreamSynchronize");  // the source may go
}

void CudaBackend::download(void* destination, const void* source, int64_t bytes) {
  const cudaStream_t on = stream();
  check(cudaMemcpyAsync(destination, source, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, on),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(on), "cudaStreamSynchronize");
}

void CudaBackend::synchronize() {
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

Weight CudaBackend::do_prepare(int64_t count, const std::function<CanonicalMatrix(int64_t)>& matrix) {
  return prepare_weight(count, matrix, stream());
}

std::unique_ptr<State> CudaBackend::create_state(const StateShape& shape, int64_t pages, int64_t slots) {
  auto state = std::make_unique<CudaState>();
  state->shape = shape;
  state->pages = pages;
  state->slots = slots;
  state->page_memory = zeroed(pages * shape.page_floats() * 4, stream());
  state->slot_memory = zeroed(slots * shape.slot_floats() * 4, stream());
  return state;
}

void CudaBackend::copy_slot(State& state, int64_t from, int64_t to) {
  copy_on_device(ours(state).slot(to), ours(state).slot(from), state.shape.slot_floats(), stream());
}

void CudaBackend::copy_page(State& state, int64_t from, int64_t to) {
  copy_on_device(ours(state).page(to), ours(state).page(from), state.shape.page_floats(), stream());
}

void CudaBackend::plan(const StepLimits& limits) {
  const cudaStream_t on = stream();
  limits_ = limits;
  step_ = std::make_unique<StepBuffer>(limits);
  expert_hidden_ = zeroed(limits.rows * limits.top_k * limits.expert_width * 4, on);
  plan_sampling(limits.vocab);
}

const StepView& CudaBackend::step() const {
  TERCET_CHECK(step_ != nullptr);
  return step_->view();
}

void CudaBackend::do_begin_step(const Step& step) {
  step_->upload(step, stream());
}

TensorView CudaBackend::tokens() {
  return {const_cast<int32_t*>(step().tokens), DType::kI32, step().rows, 1};
}

TensorView CudaBackend::logit_rows() {
  return {const_cast<int32_t*>(step().logit_rows), DType::kI32, step().logit_count, 1};
}

void CudaBackend::do_embed(const TensorView& ids, const PreparedWeight& table, TensorView out) {
  cuda::embed(stream(), ids.i32(), ids.rows, stack_of(table), table.rows, table.cols, out.f32());
}

void CudaBackend::do_rms_norm(const TensorView& x, const TensorView& w, float eps, bool offset,
                              TensorView out) {
  cuda::rms_norm(stream(), x.f32(), x.rows, x.cols, w.f32(), eps, offset, out.f32());
}

void CudaBackend::do_linear(const TensorView& x, const PreparedWeight& w, TensorView out) {
  cuda::linear(stream(), x.f32(), x.rows, stack_of(w), w.rows, out.f32());
}

void CudaBackend::do_qk_norm_rope(const TensorView& qg, TensorView k, const TensorView& q_norm,
                                  const TensorView& k_norm, const TensorView& inverse_frequencies, float eps,
                                  TensorView q_out, TensorView gate_out) {
  const int64_t head_dim = q_norm.cols;
  TERCET_CHECK_EQ(qg.rows, step().rows);
  cuda::qk_norm_rope(stream(), step(), qg.f32(), k.f32(), q_out.cols / head_dim, k.cols / head_dim, head_dim,
                     q_norm.f32(), k_norm.f32(), inverse_frequencies.f32(), inverse_frequencies.cols, eps,
                     q_out.f32(), gate_out.f32());
}

void CudaBackend::do_kv_append(const TensorView& k, const TensorView& v, State& state, int64_t layer) {
  TERCET_CHECK_EQ(k.rows, step().rows);
  cuda::kv_append(stream(), step(), k.f32(), v.f32(), ours(state).kv(layer));
}

void CudaBackend::do_attention(const TensorView& q, const State& state, int64_t layer, TensorView out) {
  TERCET_CHECK_EQ(q.rows, step().rows);
  cuda::attention(stream(), step(), q.f32(), q.cols / state.shape.head_dim, ours(state).kv(layer), out.f32());
}

void CudaBackend::do_sigmoid_gate(TensorView x, const TensorView& gate) {
  cuda::sigmoid_gate(stream(), x.f32(), x.rows, x.cols, gate.f32(), gate.cols);
}

void CudaBackend::do_conv1d_update(const TensorView& u, const TensorView& w, State& state, int64_t layer,
                                   TensorView out) {
  TERCET_CHECK_EQ(u.rows, step().rows);
  cuda::conv1d_update(stream(), step(), u.f32(), w.f32(), ours(state).recurrent(layer), out.f32());
}

void CudaBackend::do_gdn_gates(const TensorView& a, const TensorView& b, const TensorView& a_log,
                               const TensorView& dt_bias, TensorView g, TensorView beta) {
  cuda::gdn_gates(stream(), a.f32(), b.f32(), a.rows, a.cols, a_log.f32(), dt_bias.f32(), g.f32(),
                  beta.f32());
}

void CudaBackend::do_gated_delta_rule(const TensorView& qkv, const TensorView& g, const TensorView& beta,
                                      State& state, int64_t layer, TensorView out) {
  TERCET_CHECK_EQ(qkv.rows, step().rows);
  cuda::gated_delta_rule(stream(), step(), qkv.f32(), g.f32(), beta.f32(), ours(state).recurrent(layer),
                         out.f32());
}

void CudaBackend::do_gated_rms_norm(const TensorView& x, const TensorView& z, const TensorView& w, float eps,
                                    TensorView out) {
  cuda::gated_rms_norm(stream(), x.f32(), z.f32(), x.count() / w.cols, w.cols, w.f32(), eps, out.f32());
}

void CudaBackend::do_silu_mul(const TensorView& gate, const TensorView& up, TensorView out) {
  cuda::silu_mul(stream(), gate.f32(), up.f32(), gate.count(), out.f32());
}

void CudaBackend::do_router_topk(const TensorView& logits, TensorView index, TensorView weight) {
  cuda::router_topk(stream(), logits.f32(), logits.rows, logits.cols, index.cols, index.i32(), weight.f32());
}

void CudaBackend::do_moe_ffn(const TensorView& x, const TensorView& index, const TensorView& weight,
                             const PreparedWeight& gate, const PreparedWeight& up, const PreparedWeight& down,
                             TensorView out) {
  TERCET_CHECK_LE(index.count() * gate.rows, limits_.rows * limits_.top_k * limits_.expert_width);
  cuda::moe_ffn(stream(), x.f32(), x.rows, index.i32(), weight.f32(), index.cols, stack_of(gate),
                stack_of(up), stack_of(down), gate.rows, down.rows, static_cast<float*>(expert_hidden_.get()),
                out.f32());
}

void CudaBackend::do_add(TensorView x, const TensorView& y) {
  cuda::add(stream(), x.f32(), y.f32(), x.count());
}

void CudaBackend::do_gather_rows(const TensorView& x, const TensorView& rows, TensorView out) {
  cuda::gather_rows(stream(), x.f32(), rows.i32(), rows.rows, x.cols, out.f32());
}

void CudaBackend::do_quantize_activations(const TensorView& x, int64_t group, TensorView codes,
                                          TensorView scales) {
  cuda::quantize_activations(stream(), x.f32(), x.rows, x.cols, group, codes.i8(), scales.f32());
}

void CudaBackend::do_accumulate_products(const TensorView& x, const TensorView& y, float scale,
                                         TensorView out) {
  cuda::accumulate_products(stream(), x.f32(), y.f32(), x.rows, x.cols, scale, out.f32());
}

}  // namespace tercet::cuda
