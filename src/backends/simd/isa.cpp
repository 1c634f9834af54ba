#include "backends/simd/isa.h"

#if defined(TERCET_SIMD_X86)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tercet::simd {
namespace {

struct Candidate {
  std::string_view name;
  bool runs;
  const Kernels& (*kernels)();
};

#if defined(TERCET_SIMD_X86)
bool has_f16c() {  // clang 14 does not know it by name
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

template <class Visit>
void each_candidate(const Visit& visit) {  // from the best down
#if defined(TERCET_SIMD_X86)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  visit(Candidate{"avx512", avx512, avx512::kernels});
  visit(Candidate{"avx2", avx2, avx2::kernels});
#else
  visit(Candidate{"avx512", false, nullptr});
  visit(Candidate{"avx2", false, nullptr});
#endif
  visit(Candidate{"scalar", true, scalar::kernels});
}

}  // namespace

const Kernels& choose_kernels() {
  const char* variable = std::getenv("TERCET_ISA");
  const std::string forced = variable == nullptr ? "" : variable;
  const Kernels* chosen = nullptr;
  bool known = forced.empty();
  each_candidate([&](const Candidate& candidate) {
    known = known || candidate.name == forced;
    const bool wanted = forced.empty() ? chosen == nullptr : candidate.name == forced;
    if (wanted && candidate.runs) chosen = &candidate.kernels();
  });
  if (!known) {
    throw Error(ErrorKind::kUsage, "TERCET_ISA names no instruction set; set one of these, or unset it",
                {.expected = "scalar, avx2 or avx512", .found = forced});
  }
  if (chosen == nullptr) {
    throw Error(ErrorKind::kDevice,
                "this processor lacks " + forced + ", which TERCET_ISA asks for; unset it");
  }
  return *chosen;
}

}  // namespace tercet::simd
