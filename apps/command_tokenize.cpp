#include <fmt/format.h>
#include <fmt/ranges.h>

#include "console.h"
#include "files.h"
#include "options.h"
#include "text/tokenizer.h"

namespace tercet {

int run_tokenize(const TokenizeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(options.model);
  const std::string input = options.text.empty() ? read_standard_input() : read_file(options.text);
  if (options.decode) {
    const std::vector<int32_t> ids = parse_ids(input, tokenizer.vocab_size());
    const std::string text = tokenizer.decode(ids);
    print(options.common.json ? JsonObject().set("text", text).text() + "\n" : text);
    return 0;
  }
  const std::vector<int32_t> ids = tokenizer.encode(input, !options.no_special);
  print((options.common.json ? JsonObject().set("tokens", ids).text()
                             : fmt::format("{}", fmt::join(ids, ","))) +
        "\n");
  return 0;
}

}  // namespace tercet
