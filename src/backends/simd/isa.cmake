# The kernels of the simd backend: one source, compiled once per instruction set into a namespace of its own. Files that
# are compiled with such flags include no header of the standard library with inline functions (see kernels.h).
function(tercet_simd_kernels isa)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/simd/kernels/*.cpp)
  add_library(tercet_simd_${isa} OBJECT ${sources})
  target_include_directories(tercet_simd_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(tercet_simd_${isa} PRIVATE TERCET_SIMD_NAMESPACE=${isa})
  target_compile_options(tercet_simd_${isa} PRIVATE -fno-math-errno ${ARGN})
  if(TERCET_SANITIZE)  # unrolled code takes clang minutes with these checks; AddressSanitizer stays
    target_compile_options(tercet_simd_${isa} PRIVATE -fno-sanitize=undefined,fuzzer-no-link)
  endif()
  target_sources(tercet_backends_simd PRIVATE $<TARGET_OBJECTS:tercet_simd_${isa}>)
endfunction()

tercet_simd_kernels(scalar -O1)  # there to be right, not fast: -O3 takes g++ six times as long
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  tercet_simd_kernels(avx2 -O3 -mavx2 -mfma -mf16c)
  # g++ 12 takes the undefined operands of its own AVX-512 intrinsics for uninitialized variables.
  tercet_simd_kernels(avx512 -O3 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
    -Wno-uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_definitions(tercet_backends_simd PRIVATE TERCET_SIMD_X86)
endif()
