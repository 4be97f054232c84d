# muster_embed_dashboard(TARGET): builds the dashboard with npm if MUSTER_DASHBOARD is on, and
# embeds its files in the target, compressed and plain. Otherwise embeds a page that reports that
# the dashboard is missing.

set(MUSTER_DASHBOARD_SOURCE ${CMAKE_CURRENT_LIST_DIR}/dashboard)
set(MUSTER_WEB_SOURCE ${CMAKE_CURRENT_LIST_DIR})

function(muster_find_node)
  find_program(MUSTER_NODE node)
  find_program(MUSTER_NPM npm)
  set(found "none")
  if(MUSTER_NODE)
    execute_process(COMMAND ${MUSTER_NODE} --version OUTPUT_VARIABLE found
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" found "${found}")
  endif()
  if(NOT MUSTER_NODE OR NOT MUSTER_NPM OR found VERSION_LESS 18)
    message(FATAL_ERROR
      "The dashboard needs Node.js 18 or newer with npm (found: ${found}). Install it, for example "
      "with `apt install nodejs npm`, or build without the dashboard: -DMUSTER_DASHBOARD=OFF")
  endif()
endfunction()

function(muster_embed_dashboard target)
  if(NOT MUSTER_DASHBOARD)
    target_sources(${target} PRIVATE ${MUSTER_WEB_SOURCE}/server/no_dashboard.cpp)
    return()
  endif()
  if(NOT EXISTS ${MUSTER_DASHBOARD_SOURCE}/build.mjs)
    message(WARNING "web/dashboard/build.mjs is missing: the dashboard is left out")
    target_sources(${target} PRIVATE ${MUSTER_WEB_SOURCE}/server/no_dashboard.cpp)
    return()
  endif()
  muster_find_node()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/dashboard)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${MUSTER_DASHBOARD_SOURCE}/src/*)
  add_custom_command(
    OUTPUT ${MUSTER_DASHBOARD_SOURCE}/node_modules/.installed
    COMMAND ${CMAKE_COMMAND} -DNPM=${MUSTER_NPM} -DSOURCE=${MUSTER_DASHBOARD_SOURCE}
            -DSTAMP=${MUSTER_DASHBOARD_SOURCE}/node_modules/.installed
            -P ${MUSTER_WEB_SOURCE}/npm_install.cmake
    DEPENDS ${MUSTER_DASHBOARD_SOURCE}/package-lock.json ${MUSTER_WEB_SOURCE}/npm_install.cmake
    COMMENT "Installing the dashboard's packages (npm ci)"
    USES_TERMINAL VERBATIM)
  add_custom_command(
    OUTPUT ${out}/manifest.json
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND ${CMAKE_COMMAND} -E env MUSTER_WEB_OUT=${out} ${MUSTER_NPM} run --silent build
    WORKING_DIRECTORY ${MUSTER_DASHBOARD_SOURCE}
    DEPENDS ${sources} ${MUSTER_DASHBOARD_SOURCE}/build.mjs ${MUSTER_DASHBOARD_SOURCE}/package.json
            ${MUSTER_DASHBOARD_SOURCE}/node_modules/.installed
    COMMENT "Building the dashboard (npm run build)"
    USES_TERMINAL VERBATIM)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_assets.S
           ${CMAKE_CURRENT_BINARY_DIR}/embedded_assets.cpp
    COMMAND ${CMAKE_COMMAND} -DFROM=${out} -DTO=${CMAKE_CURRENT_BINARY_DIR}
            -P ${MUSTER_WEB_SOURCE}/embed_assets.cmake
    DEPENDS ${out}/manifest.json ${MUSTER_WEB_SOURCE}/embed_assets.cmake
    COMMENT "Embedding the dashboard" VERBATIM)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/embedded_assets.S
    PROPERTIES OBJECT_DEPENDS ${out}/manifest.json)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded_assets.S
                                   ${CMAKE_CURRENT_BINARY_DIR}/embedded_assets.cpp)
  target_compile_definitions(${target} PUBLIC MUSTER_WITH_DASHBOARD)
endfunction()
