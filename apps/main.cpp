// The command line: the one file that knows CLI11. It fills the structs of options.h and calls the chosen
// command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

#include "checkpoint/model_config.h"
#include "completion.h"
#include "console.h"
#include "interrupt.h"
#include "options.h"
#include "version.h"

namespace tercet {
namespace {

using Choices = std::vector<std::string>;

constexpr int64_t kMost = int64_t{1} << 40;  // of anything counted

template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value, const Choices& choices,
                        const std::string& description) {
  return app.add_option(name, value, description)->check(CLI::IsMember(choices));
}

CLI::Option* add_count(CLI::App& app, const std::string& name, int64_t& value,
                       const std::string& description) {
  return app.add_option(name, value, description)
      ->check(CLI::Range(int64_t{1}, kMost).description(""))
      ->type_name("N");
}

/// The parser wraps what is negative or too large for 64 bits.
template <class T>
void add_seed(CLI::App& app, T& seed, const std::string& description) {
  const CLI::Validator fits(
      [](const std::string& text) {
        uint64_t value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        return status == std::errc() && end == text.data() + text.size()
                   ? ""
                   : "must be a whole number below 2^64";
      },
      "");
  app.add_option("--seed", seed, description)->check(fits)->capture_default_str();
}

void add_common(CLI::App& app, CommonOptions& options) {
  app.add_flag("--json", options.json, "one JSON object on standard output, nothing else there");
  app.add_flag("--quiet", options.quiet, "no progress, no notes");
  app.add_option("--threads", options.threads, "threads of the CPU, 0: all cores")
      ->check(CLI::Range(0, 1024));
  add_choice(app, "--backend", options.backend, {"ref", "simd", "cuda"},
             "what computes; default: the fastest there is");
  app.add_option("--device", options.device, "cpu, cuda, cuda:N or auto")->type_name("DEVICE");
  app.add_flag("--exact", options.exact, "quantize no activation unless the format says so");
}

void add_model(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model, "model folder in Hugging Face layout")->required();
}

void add_sampling(CLI::App& app, SamplingOptions& options) {
  const CLI::Range share(0.0, 1.0);
  const CLI::Validator finite(
      [](const std::string& text) {
        const double value = std::strtod(text.c_str(), nullptr);
        return std::isfinite(static_cast<float>(value)) ? "" : "must be a finite number";
      },
      "");
  app.add_option("--temperature", options.temperature, "0: the most likely token")
      ->check(finite)
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", options.top_k, "only the K most likely tokens, 0: all")
      ->check(CLI::Range(int64_t{0}, kMost).description(""))
      ->type_name("N");
  app.add_option("--top-p", options.top_p, "only the most likely tokens that sum to this share")
      ->check(finite)
      ->check(share);
  app.add_option("--min-p", options.min_p, "only tokens with this share of the largest probability")
      ->check(finite)
      ->check(share);
  app.add_option("--presence-penalty", options.presence_penalty, "taken from logits of tokens already made")
      ->check(finite);
  app.add_option("--repetition-penalty", options.repetition_penalty, "divides logits of tokens already seen")
      ->check(finite)
      ->check(CLI::Range(1e-6, 1e6));
  add_seed(app, options.seed, "of the random numbers");
}

/// Owns what the parser writes to, and the command that was chosen.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(0, 1);
    app_.add_flag("--version", version_, "print version, commit, compilers, instruction set and CUDA");
    define_checkpoints();
    define_quantize();
    define_eval();
    define_logits();
    define_generate();
    define_chat();
    define_text();
    define_bench();
    define_completion();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
      std::ostringstream text;
      app_.exit(help, text, text);
      print(text.str());
      return 0;
    } catch (const CLI::ExtrasError& error) {
      throw Error(ErrorKind::kUsage, not_understood(error));
    } catch (const CLI::ParseError& error) {
      throw Error(ErrorKind::kUsage, std::string(error.what()) + "; see --help");
    }
    if (version_) {
      print(version_line() + "\n");
      return 0;
    }
    if (!command_) throw Error(ErrorKind::kUsage, "no command given; see --help");
    return command_();
  }

 private:
  /// Adds a command whose options live as long as the parser.
  template <class Options>
  CLI::App& command(const std::string& name, const std::string& description, Options& options,
                    int (*act)(const Options&)) {
    CLI::App& sub = *app_.add_subcommand(name, description);
    add_common(sub, options.common);
    sub.callback([this, &options, act] {
      command_ = [&options, act] {
        start_log(options.common.quiet);
        return act(options);
      };
    });
    return sub;
  }

  void define_checkpoints() {
    CLI::App& app =
        command("inspect", "what a checkpoint is: tensors, formats, sizes", inspect_, run_inspect);
    add_model(app, inspect_.model);
  }

  void define_quantize() {
    CLI::App& app =
        command("quantize", "write a smaller checkpoint with its audit log", quantize_, run_quantize);
    QuantizeOptions& to = quantize_.quantize;
    app.add_option("SRC", quantize_.source, "model folder")->required();
    app.add_option("DST", quantize_.destination, "folder to write")->required();
    add_choice(app, "--method", quantize_.method, {"rtn", "gptq"}, "how codes are chosen")
        ->capture_default_str();
    app.add_option("--bits", to.bits, "bits of a weight")
        ->check(CLI::IsMember({2, 3, 4, 8}))
        ->capture_default_str();
    app.add_option("--group-size", to.group_size, "columns that share a scale, -1: all of a row")
        ->check(CLI::IsMember({-1, 32, 64, 128}))
        ->capture_default_str();
    app.add_option("--calibration", quantize_.calibration, "text to calibrate on")->type_name("FILE");
    add_count(app, "--samples", quantize_.samples, "windows of the text")->capture_default_str();
    add_count(app, "--sequence-length", quantize_.sequence_length, "tokens of a window")
        ->capture_default_str();
    add_seed(app, quantize_.seed, "chooses the windows");
    app.add_option("--recipe", quantize_.recipe, "rules by module name (JSON)")->type_name("FILE");
    app.add_flag("--all-linears", to.all_linears, "quantize the head too");
    app.add_flag("--scale-search", to.scale_search, "rtn: search the scale of each group");
    app.add_flag("--asym", quantize_.asymmetric, "store a zero for each group");
    app.add_flag("--desc-act", to.desc_act, "groups follow the order of the columns");
    app.add_flag("--no-corrected-target", quantize_.no_corrected_target,
                 "aim at the layer's own outputs only");
    app.add_option("--refit", to.refit_rounds, "rounds of refitting scales")
        ->check(CLI::Range(0, 16))
        ->capture_default_str();
    app.add_option("--damp", to.damp, "added to the Hessian's diagonal, as a share of its mean")
        ->check(CLI::Range(1e-9, 1.0))
        ->capture_default_str();
    app.add_option("--fallback-threshold", quantize_.fallback_threshold,
                   "fewest tokens of a matrix: 0.5% or a count")
        ->capture_default_str();
    app.add_flag("--gptq-v1", to.gptq_v1, "store zeros minus one, for old readers");
    app.add_flag("--resume", to.resume, "go on where a run was interrupted");
    app.add_flag("--overwrite", to.overwrite, "replace DST");
  }

  void define_eval() {
    CLI::App& app = command("eval", "perplexity, distance from a reference, tasks", eval_, run_eval);
    add_model(app, eval_.model);
    app.add_option("--text", eval_.text, "documents to predict")->type_name("FILE");
    app.add_option("--context", eval_.context, "tokens of a window")
        ->check(CLI::Range(int64_t{2}, kMost).description(""))
        ->type_name("N")
        ->capture_default_str();
    add_count(app, "--tokens", eval_.tokens, "tokens of the text, windows spread evenly; default: all");
    app.add_option("--reference", eval_.reference, "model folder to compare with")->type_name("MODEL");
    app.add_option("--tasks", eval_.tasks, "task lines to answer")->type_name("FILE");
    add_choice(app, "--thinking", eval_.thinking, {"on", "off", "task"}, "reasoning in tasks")
        ->capture_default_str();
    add_count(app, "--limit", eval_.limit, "task lines at most, spread evenly; default: all");
  }

  void define_logits() {
    CLI::App& app = command("logits", "write logits, and hidden states, to a file", logits_, run_logits);
    add_model(app, logits_.model);
    app.add_option("--ids", logits_.ids, "token ids, separated by commas")->type_name("LIST");
    app.add_option("--text", logits_.text, "text to run as one string")->type_name("FILE");
    app.add_option("--out", logits_.out, "safetensors file to write")->type_name("FILE")->required();
    app.add_flag("--hidden", logits_.hidden, "hidden states of every layer");
    app.add_flag("--mtp", logits_.mtp, "logits of the draft head");
    add_count(app, "--chunk", logits_.chunk, "rows of a step")->capture_default_str();
  }

  void define_generate() {
    CLI::App& app = command("generate", "continue one prompt", generate_, run_generate);
    add_model(app, generate_.model);
    app.add_option("--prompt", generate_.prompt, "raw text, added tokens recognized");
    app.add_option("--ids", generate_.ids, "token ids, separated by commas")->type_name("LIST");
    app.add_option("--messages", generate_.messages, "JSON with messages, tools, enable_thinking")
        ->type_name("FILE");
    add_count(app, "--max-tokens", generate_.max_tokens, "tokens to make at most")->capture_default_str();
    app.add_option("--stop", generate_.stop, "text that ends the reply; repeatable")->allow_extra_args(false);
    app.add_flag("--ignore-eos", generate_.ignore_eos, "go on behind the model's own end");
    add_sampling(app, generate_.sampling);
  }

  void define_chat() {
    CLI::App& app =
        command("chat", "a conversation in the terminal, or on lines of standard input", chat_, run_chat);
    add_model(app, chat_.model);
    app.add_option("--system", chat_.system, "system message");
    add_choice(app, "--thinking", chat_.thinking, {"on", "off"}, "reasoning before the reply")
        ->capture_default_str();
    add_count(app, "--context", chat_.context, "tokens of the conversation at most")->capture_default_str();
    add_count(app, "--max-tokens", chat_.max_tokens, "tokens of a reply at most")->capture_default_str();
    add_sampling(app, chat_.sampling);
  }

  void define_text() {
    CLI::App& tokenize = command("tokenize", "text to token ids, and back", tokenize_, run_tokenize);
    add_model(tokenize, tokenize_.model);
    tokenize.add_option("--text", tokenize_.text, "default: standard input")->type_name("FILE");
    tokenize.add_flag("--no-special", tokenize_.no_special, "added tokens are plain text");
    tokenize.add_flag("--decode", tokenize_.decode, "ids in, text out");
    CLI::App& render = command("template", "render messages with the chat template", template_, run_template);
    add_model(render, template_.model);
    render.add_option("--messages", template_.messages, "JSON with messages, tools, enable_thinking")
        ->type_name("FILE")
        ->required();
    render.add_flag("--no-generation-prompt", template_.no_generation_prompt, "end behind the last message");
  }

  void define_bench() {
    CLI::App& app =
        command("bench", "speed by context and batch, with the bytes it moves", bench_, run_bench);
    app.add_option("MODEL", bench_.model, "model folder");
    app.add_option("--synthetic", bench_.synthetic, "random weights of a released model's sizes")
        ->transform(CLI::IsMember(released_models(), CLI::ignore_case));
    add_choice(app, "--format", bench_.format, {"gptq", "bf16"}, "of synthetic weights")
        ->capture_default_str();
    for (const auto& [name, list, description] :
         {std::tuple("--context", &bench_.context, "tokens before decoding starts"),
          std::tuple("--batch", &bench_.batch, "sequences that decode together"),
          std::tuple("--prompt", &bench_.prompt, "tokens of prompts")}) {
      app.add_option(name, *list, description)
          ->delimiter(',')
          ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
          ->type_name("LIST")
          ->capture_default_str();
    }
    add_count(app, "--repetitions", bench_.repetitions, "measurements of each")->capture_default_str();
  }

  void define_completion() {
    CLI::App& app =
        *app_.add_subcommand("completion", "a script that completes this command line in a shell");
    add_choice(app, "SHELL", shell_, {"bash", "zsh", "fish"}, "the shell")->required();
    app.callback([this] {
      command_ = [this] {
        print(completion_script(shell_, commands()));
        return 0;
      };
    });
  }

  /// What to say of words that fit nowhere: of all of them, the one that is most likely mistyped.
  std::string not_understood(const CLI::ExtrasError& error) const {
    const auto chosen = app_.get_subcommands();
    if (chosen.empty() && !app_.remaining().empty() && !app_.remaining().front().starts_with("-")) {
      std::string names;
      for (const CLI::App* sub : app_.get_subcommands({})) names += " " + sub->get_name();
      return fmt::format("there is no command '{}'; there are:{}", app_.remaining().front(), names);
    }
    for (const std::string& word : app_.remaining(true)) {
      if (word.starts_with("-")) return fmt::format("there is no option '{}' here; see --help", word);
    }
    return std::string(error.what()) + "; see --help";
  }

  /// The values of an option with a fixed set, which its type's name ends with: "TEXT:{on,off}".
  static Choices choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const size_t begin = type.find('{');
    if (begin == std::string::npos) return {};
    return CLI::detail::split(type.substr(begin + 1, type.find('}') - begin - 1), ',');
  }

  std::vector<CommandInfo> commands() const {
    std::vector<CommandInfo> all;
    for (const CLI::App* sub : app_.get_subcommands({})) {
      CommandInfo info = {sub->get_name(), sub->get_description(), {}, {}};
      for (const CLI::Option* option : sub->get_options()) {
        if (option->get_positional()) {
          info.choices = choices_of(*option);
        } else {
          info.options.push_back({"--" + option->get_lnames().front(), option->get_description(),
                                  option->get_items_expected_max() > 0, choices_of(*option)});
        }
      }
      all.push_back(std::move(info));
    }
    return all;
  }

  CLI::App app_{"Quantizes, runs and judges Qwen3.5/3.6 hybrid models.", "tercet"};
  std::function<int()> command_;
  bool version_ = false;
  std::string shell_;
  InspectOptions inspect_;
  QuantizeCommandOptions quantize_;
  EvalOptions eval_;
  LogitsOptions logits_;
  GenerateOptions generate_;
  ChatOptions chat_;
  TokenizeOptions tokenize_;
  TemplateOptions template_;
  BenchOptions bench_;
};

/// Known before the options are parsed, so that wrong usage is reported in the form asked for.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace
}  // namespace tercet

int main(int argc, char** argv) {
  const bool json = tercet::wants_json(argc, argv);
  tercet::say_when_a_file_shrinks(tercet::failure_text(
      {tercet::ErrorKind::kIo,
       "a file became shorter while it was read; fetch it again, and change no file in use"},
      json));
  try {
    return tercet::CommandLine().run(argc, argv);
  } catch (const tercet::Error& error) {
    return tercet::report_failure(error, json);
  } catch (const std::filesystem::filesystem_error& error) {
    return tercet::report_failure(
        {tercet::ErrorKind::kIo, error.code().message(), {.file = error.path1().string()}}, json);
  } catch (const std::bad_alloc&) {
    return tercet::report_failure(
        {tercet::ErrorKind::kDevice,
         "there is not enough memory for this; ask for a shorter context or less at once"},
        json);
  } catch (const std::exception& error) {
    return tercet::report_failure({tercet::ErrorKind::kInternal, error.what()}, json);
  }
}
