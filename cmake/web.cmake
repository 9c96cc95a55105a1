# clrscope_web(TARGET): bundles web/ and puts the result into TARGET, as src/site/assets.h gives it out.
#
# All build trees share web/node_modules; a lock keeps two of them from installing at once.
function(clrscope_web target)
  find_program(NODE node)
  find_program(NPM npm)
  find_program(FLOCK flock)
  if(NOT NODE OR NOT NPM OR NOT FLOCK)
    message(FATAL_ERROR "The pages are made by node 18 or newer, npm and flock, and not all of them are there.\n"
                        "  hint: apt-get install --no-install-recommends nodejs npm util-linux")
  endif()
  set(web ${PROJECT_SOURCE_DIR}/web)
  set(out ${CMAKE_BINARY_DIR}/web)
  file(MAKE_DIRECTORY ${out})
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${web}/src/* ${web}/public/* ${web}/templates/*)
  list(FILTER inputs EXCLUDE REGEX "/api/(fleet-)?types\\.ts$")  # made from openapi.json by build.mjs
  add_custom_command(
    OUTPUT ${out}/assets.S ${out}/assets.inc ${out}/pages.inc
    COMMAND ${FLOCK} ${web}/package-lock.json ${NODE} ${web}/install.mjs ${NPM}
    COMMAND ${NODE} ${web}/build.mjs ${out}
    DEPENDS ${inputs} ${web}/package-lock.json ${web}/install.mjs ${web}/build.mjs
            ${web}/types.mjs ${PROJECT_SOURCE_DIR}/docs/openapi.json ${PROJECT_SOURCE_DIR}/docs/fleet-openapi.json
    COMMENT "Bundling the pages"
    VERBATIM)
  # The assembler's .incbin is seen by nobody: assets.S is new whenever a blob is.
  set_source_files_properties(${out}/assets.S PROPERTIES COMPILE_OPTIONS "-I${out}")
  target_sources(${target} PRIVATE ${out}/assets.S ${out}/assets.inc ${out}/pages.inc)
  target_include_directories(${target} PUBLIC ${out})
endfunction()
