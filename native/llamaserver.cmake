# llama.cpp's server, linked to the shared objects in the folder RIPOSTE_LLAMA, in place of llama.cpp's whole project.
cmake_minimum_required(VERSION 3.14...3.28)
project("llama.cpp" C CXX)
include(cmake/common.cmake)
include(cmake/license.cmake)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(LLAMA_BUILD_NUMBER 0)
set(LLAMA_BUILD_COMMIT unknown)
add_compile_definitions(LLAMA_SHARED GGML_SHARED GGML_BACKEND_SHARED)

add_library(llama INTERFACE)
target_include_directories(llama INTERFACE include ggml/include)
foreach(name llama ggml ggml-cpu ggml-base)
    target_link_libraries(llama INTERFACE ${RIPOSTE_LLAMA}/lib${name}.so)
endforeach()
add_library(ggml ALIAS llama)

set(LLAMA_BUILD_COMMON ON)
add_subdirectory(vendor)
add_subdirectory(common)
add_subdirectory(tools/ui)
add_subdirectory(tools/mtmd)
add_subdirectory(tools/server)

# Models that see and hear are some fifty small files with the same headers, which are read once for sixteen of them.
set_target_properties(mtmd PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
file(GLOB alone ${PROJECT_SOURCE_DIR}/tools/mtmd/*.cpp)
set_source_files_properties(${alone} TARGET_DIRECTORY mtmd PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
