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

  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME clrscope_${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS})

  if(CLRSCOPE_TESTS AND tests)
    add_executable(${name}_test ${tests})
    # g++ 12 sees overflows that are not there when it inlines the building of small byte strings.
    target_compile_options(${name}_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
    target_link_libraries(${name}_test PRIVATE ${name} GTest::gmock GTest::gtest GTest::gtest_main)
    # Only the files that ask for it: an absolute path keeps a file out of the cache that clones share.
    foreach(test ${tests})
      file(STRINGS ${test} asks REGEX "CLRSCOPE_TEST_DATA|nettrace/test_support.h" LIMIT_COUNT 1)
      if(asks)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS "CLRSCOPE_TEST_DATA=\"${PROJECT_SOURCE_DIR}/tests/data\"")
      endif()
    endforeach()
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS "unit;${name}" TIMEOUT 300)
  endif()
endfunction()
