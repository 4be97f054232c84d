# find_package(muster) with the targets muster::client, muster::cluster and muster::cluster_http.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/muster)

if(MUSTER_WITH_CLOUD_RESOLVERS)
  set(cloud_resolvers muster_cluster_http)
  set(cloud_headers ${PROJECT_SOURCE_DIR}/launch/cluster/http/include/muster)
endif()
install(TARGETS muster_client muster_cluster ${cloud_resolvers} muster_http_client muster_base muster_coro muster_machine muster_native_stacks
                muster_proto muster_values muster_options EXPORT muster_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT muster_targets NAMESPACE muster:: DESTINATION ${package_dir})
install(DIRECTORY include/muster ${PROJECT_SOURCE_DIR}/launch/cluster/include/muster
                  ${cloud_headers}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/muster DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/proto
  FILES_MATCHING PATTERN "*.proto")

configure_package_config_file(${PROJECT_SOURCE_DIR}/scripts/cmake/musterConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/musterConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/musterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/musterConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/musterConfigVersion.cmake DESTINATION ${package_dir})
