# Runs `npm ci` in SOURCE unless its node_modules match the lock file, then touches STAMP.
set(installed ${SOURCE}/node_modules/.package-lock.json)
if(NOT EXISTS ${installed} OR ${SOURCE}/package-lock.json IS_NEWER_THAN ${installed})
  execute_process(COMMAND ${NPM} ci --no-audit --no-fund WORKING_DIRECTORY ${SOURCE}
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "npm ci failed in ${SOURCE}; without network build with -DMUSTER_DASHBOARD=OFF")
  endif()
endif()
file(TOUCH ${STAMP})
