#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quant/options.h"

// What the command line says, one plain struct a command. main.cpp fills them; command_*.cpp act on them.
namespace tercet {

/// Options that every command takes.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  bool exact = false;           // no activation is quantized unless the format says so
  int threads = 0;              // 0: all cores
  std::string backend;          // "ref", "simd", "cuda"; empty: the fastest that is there
  std::string device = "auto";  // "cpu", "cuda", "cuda:N", "auto"
};

struct InspectOptions {
  CommonOptions common;
  std::string model;
};

struct QuantizeCommandOptions {
  CommonOptions common;
  std::string source;
  std::string destination;
  std::string method = "gptq";
  std::string fallback_threshold = "0.5%";
  std::string recipe;       // path, or empty
  std::string calibration;  // path, or empty
  int64_t samples = 128;
  int64_t sequence_length = 1024;
  uint64_t seed = 0;
  bool asymmetric = false;
  bool no_corrected_target = false;
  QuantizeOptions quantize;  // what needs no translation is parsed straight into it
};

struct EvalOptions {
  CommonOptions common;
  std::string model;
  std::string text;       // path, or empty
  std::string reference;  // model folder, or empty
  std::string tasks;      // path, or empty
  int64_t context = 1024;
  int64_t tokens = 0;  // 0: all
  int64_t limit = 0;   // task lines; 0: all
  std::string thinking = "task";
};

struct LogitsOptions {
  CommonOptions common;
  std::string model;
  std::string ids;   // "1,2,3", or empty
  std::string text;  // path, or empty
  std::string out;
  bool hidden = false;
  bool mtp = false;
  int64_t chunk = 512;  // rows of a step
};

/// What replaces generation_config.json's defaults.
struct SamplingOptions {
  std::optional<float> temperature;
  std::optional<int64_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> presence_penalty;
  std::optional<float> repetition_penalty;
  std::optional<uint64_t> seed;
};

struct GenerateOptions {
  CommonOptions common;
  std::string model;
  std::optional<std::string> prompt;
  std::string ids;       // "1,2,3", or empty
  std::string messages;  // path, or empty
  int64_t max_tokens = 512;
  SamplingOptions sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};

struct ChatOptions {
  CommonOptions common;
  std::string model;
  std::string system;  // message, or empty
  std::string thinking = "on";
  int64_t context = 8192;
  int64_t max_tokens = 2048;  // of a reply
  SamplingOptions sampling;
};

struct TokenizeOptions {
  CommonOptions common;
  std::string model;
  std::string text;  // path; empty: standard input
  bool no_special = false;
  bool decode = false;
};

struct TemplateOptions {
  CommonOptions common;
  std::string model;
  std::string messages;  // path
  bool no_generation_prompt = false;
};

struct BenchOptions {
  CommonOptions common;
  std::string model;      // folder, or empty
  std::string synthetic;  // name of a released model, or empty
  std::string format = "gptq";
  std::vector<int64_t> context = {512};
  std::vector<int64_t> batch = {1};
  std::vector<int64_t> prompt = {512};
  int64_t repetitions = 3;
};

int run_version();
int run_inspect(const InspectOptions& options);
int run_quantize(const QuantizeCommandOptions& options);
int run_eval(const EvalOptions& options);
int run_logits(const LogitsOptions& options);
int run_generate(const GenerateOptions& options);
int run_chat(const ChatOptions& options);
int run_tokenize(const TokenizeOptions& options);
int run_template(const TemplateOptions& options);
int run_bench(const BenchOptions& options);

}  // namespace tercet
