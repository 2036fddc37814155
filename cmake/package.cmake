# What is installed beside program and library, and the packages that CPack makes: one archive of
# everything, and three Debian packages (./dev package).
install(FILES README.md SECURITY.md CHANGELOG.md COMPONENT program DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs COMPONENT program DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(FILES packaging/priorboost-oracle.service COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples/ COMPONENT development DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  USE_SOURCE_PERMISSIONS)

# The address stands in every package; who publishes one puts in their own (docs/releasing.md).
set(PBOOST_MAINTAINER "priorboost developers <priorboost@example.org>" CACHE STRING
  "Who answers for the packages: NAME <ADDRESS>; the default is a placeholder")

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "the priorboost developers")
set(CPACK_PACKAGE_CONTACT "${PBOOST_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "learn models of individuals from the means of bags of rows")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_PACKAGE_FILE_NAME priorboost-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)

# ---- Debian ----
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(what "A label holder answers only with the mean label of bags of at least k rows,
each row once, with or without noise for label differential privacy.  A
learner has the features of the same rows and trains a model of individuals.")
set(soname libpriorboost${PROJECT_VERSION_MAJOR})
foreach(names "program=priorboost=science=the program, for both parties"
              "library=${soname}=libs=the shared library"
              "development=libpriorboost-dev=libdevel=headers for development")
  string(REPLACE "=" ";" names "${names}")
  list(GET names 0 component)
  list(GET names 1 package)
  list(GET names 2 section)
  list(GET names 3 part)
  string(TOUPPER ${component} id)
  set(CPACK_DEBIAN_${id}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${id}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${id}_DESCRIPTION "learn from the means of bags of rows: ${part}\n${what}")
  list(APPEND package_names ${component} ${package}) # for the script below
endforeach()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${soname} (= ${PROJECT_VERSION}-1)")

# Copyright and changelog of each package.  TIMESTAMP is SOURCE_DATE_EPOCH where that is set.
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/changelog.in packaging/changelog @ONLY)
configure_file(cmake/debian_files.cmake.in packaging/debian_files.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/packaging/debian_files.cmake)
include(CPack)
