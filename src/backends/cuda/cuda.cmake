# The plain CUDA backend. Without the toolkit the same functions say what is missing.
if(NOT TERCET_CUDA)
  add_library(tercet_backends_cuda STATIC ${CMAKE_SOURCE_DIR}/src/backends/cuda/no_cuda.cpp)
  target_include_directories(tercet_backends_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(tercet_backends_cuda PUBLIC tercet_ops)
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cpp
  ${CMAKE_SOURCE_DIR}/src/backends/cuda/kernels/*.cu)
list(FILTER cuda_sources EXCLUDE REGEX "/no_cuda\\.cpp$")
add_library(tercet_backends_cuda STATIC ${cuda_sources})
target_include_directories(tercet_backends_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(tercet_backends_cuda PUBLIC tercet_ops PRIVATE CUDA::cudart_static)
set_target_properties(tercet_backends_cuda PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
  CUDA_SEPARABLE_COMPILATION OFF)
# As on the host: a product and a sum are fused only where the source says fma.
target_compile_options(tercet_backends_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror>)
