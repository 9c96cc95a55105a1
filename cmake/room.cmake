# clrscope_room(NAME DEPS room… [LIBS library…]): one folder, one library, one test program.
#
# Every x.cpp below the folder belongs to the library, every x_test.cpp to NAME_test. DEPS is the whole list of rooms that
# may be included; tools/check_layers.py reads it from here too.
function(clrscope_room name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  clrscope_unity(sources ${name} "${sources}")
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME clrscope_${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS})

  if(CLRSCOPE_TESTS AND tests)
    clrscope_unity(tests ${name}_test "${tests}")
    add_executable(${name}_test ${tests})
    # g++ 12 sees overflows that are not there when it inlines the building of small byte strings.
    target_compile_options(${name}_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
    target_compile_options(${name}_test PRIVATE -O0)  # half the time to compile; what is tested is optimised all the same
    target_link_libraries(${name}_test PRIVATE ${name} test_data GTest::gmock GTest::gtest GTest::gtest_main)
    add_dependencies(unit_tests ${name}_test)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS "unit;${name}" TIMEOUT 300)
  endif()
endfunction()

# clrscope_case_program(NAME SOURCES… ROOM room): a program of a room for live tests, end-to-end cases or benchmarks.
function(clrscope_case_program name)
  cmake_parse_arguments(ARG "" "ROOM" "" ${ARGN})
  if(NOT CLRSCOPE_TESTS OR CLRSCOPE_SANITIZE)
    return()
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_ROOM})
  add_dependencies(case_programs ${name})
endfunction()

# clrscope_unity(OUT NAME FILES): sets OUT to the files to compile instead of FILES: groups that include several of them, so that
# headers are parsed once per group. cmake/unity.py says which files may share one. Off in the preset dev, where single files
# are edited and built again.
function(clrscope_unity out name files)
  if(NOT CLRSCOPE_UNITY)
    return()
  endif()
  list(JOIN files "\n" lines)
  set(list ${CMAKE_BINARY_DIR}/unity/${name}.list)
  file(WRITE ${list} "${lines}\n")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/unity.py ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/unity/${name}
    INPUT_FILE ${list} OUTPUT_VARIABLE grouped OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" grouped "${grouped}")
  # g++ takes an included file for a header, whose types must not depend on an anonymous namespace.
  set_source_files_properties(${grouped} PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
  set(${out} ${grouped} PARENT_SCOPE)
endfunction()

# Where tests find tests/data. In a library of its own: the path differs from clone to clone, and must not keep the tests
# themselves out of the compiler cache that clones share.
function(clrscope_test_data)
  set(source ${CMAKE_BINARY_DIR}/test_data.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "base/test_data.h"

std::string clrscope::test_data(std::string_view path) {
  return std::string{"@PROJECT_SOURCE_DIR@/tests/data/"}.append(path);
}
]])
  add_library(test_data STATIC ${source})
  target_include_directories(test_data PUBLIC ${PROJECT_SOURCE_DIR}/src)
endfunction()
