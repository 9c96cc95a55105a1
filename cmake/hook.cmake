# clrscope_hook(TARGET): puts the helper of `clrscope enable` into TARGET where tools/build_hook has built it, else nothing in its place.
#
# The C++ build does not need dotnet. Each build looks whether the helper is there, or is another one than last time.
function(clrscope_hook target)
  set(taken ${CMAKE_BINARY_DIR}/hook)
  file(MAKE_DIRECTORY ${taken})
  add_custom_target(take_hook
    COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/build/hook/clrscope_hook.dll -DTO=${taken}/clrscope_hook.dll
            -P ${PROJECT_SOURCE_DIR}/cmake/take_hook.cmake
    BYPRODUCTS ${taken}/clrscope_hook.dll
    VERBATIM)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/hook.S)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-I${taken}" OBJECT_DEPENDS ${taken}/clrscope_hook.dll)
  target_sources(${target} PRIVATE ${source})
  add_dependencies(${target} take_hook)
endfunction()
