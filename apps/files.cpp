#include "files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tercet {

std::string read_file(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())};
}

std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(block.data(), static_cast<size_t>(count));
    } else if (errno != EINTR) {
      throw Error(ErrorKind::kIo, std::string("standard input cannot be read: ") + std::strerror(errno));
    }
  }
}

std::vector<int32_t> parse_ids(std::string_view text, int64_t limit) {
  constexpr std::string_view kBetween = ", \t\r\n";
  std::vector<int32_t> ids;
  for (size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const std::string_view word = text.substr(at, text.find_first_of(kBetween, at) - at);
    int32_t id = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (status != std::errc() || end != word.data() + word.size() || id < 0 || id >= limit) {
      throw Error(ErrorKind::kUsage, "not a list of token ids",
                  {.expected = fmt::format("numbers from 0 to {}, separated by commas", limit - 1),
                   .found = fmt::format("'{}'", word.substr(0, 40))});
    }
    ids.push_back(id);
    at += word.size();
    if (at >= text.size()) break;
  }
  return ids;
}

}  // namespace tercet
