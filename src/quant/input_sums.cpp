#include "quant/input_sums.h"

namespace tercet {

InputSums::InputSums(Backend& backend, int64_t width, bool cross)
    : buffer_(backend.allocate(bytes(width, cross))) {
  squares_ = {buffer_.get(), DType::kF32, width, width};
  if (cross) cross_ = {static_cast<char*>(buffer_.get()) + squares_.bytes(), DType::kF32, width, width};
}

void InputSums::add(Backend& backend, const TensorView& plain, const TensorView& quantized, float scale) {
  backend.accumulate_products(quantized, quantized, scale, squares_);
  if (cross_.data != nullptr) backend.accumulate_products(plain, quantized, scale, cross_);
}

InputStatistics InputSums::download(Backend& backend) const {
  InputStatistics statistics;
  statistics.width = squares_.rows;
  statistics.squares.resize(static_cast<size_t>(squares_.count()));
  backend.download(statistics.squares.data(), squares_.data, squares_.bytes());
  statistics.cross.resize(static_cast<size_t>(cross_.count()));
  if (cross_.data != nullptr) backend.download(statistics.cross.data(), cross_.data, cross_.bytes());
  return statistics;
}

}  // namespace tercet
