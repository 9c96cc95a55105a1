# How everything here is compiled: C++20, warnings are errors, no dynamic libraries but libc.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Two clones share one cache: paths below the source folder count as relative.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-omit-frame-pointer
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-sign-conversion) # which g++ counts as a warning of its own, not part of -Wconversion
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
if(CLRSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${CLRSCOPE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CLRSCOPE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CLRSCOPE_SANITIZE MATCHES "address")
    # As g++ has it: the macro, and local variables on the real stack, where tests look for them.
    add_compile_definitions(__SANITIZE_ADDRESS__)
    add_compile_options(-fsanitize-address-use-after-return=never)
  endif()
else()
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

find_package(Threads REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
