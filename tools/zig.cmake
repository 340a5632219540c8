# A toolchain for CMake: zig's C compiler, which has the headers and libraries of each system it compiles for, so that the machine has no say in what comes out.
#
#   cmake -S . -B FOLDER -DCMAKE_TOOLCHAIN_FILE=tools/zig.cmake -DZIG=PROGRAM -DTARGET=aarch64-linux-musl -DPT2ONNX_ZLIB=FOLDER
#
# TARGET is zig's: x86_64-linux-gnu.2.17 is glibc 2.17, aarch64-macos.11.0 wants macOS 11, x86_64-windows-gnu has the headers of mingw-w64. `tools/setup dist` installs zig, and tools/dist.py calls this.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG TARGET)
if("${TARGET}" MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif("${TARGET}" MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${TARGET}")
set(CMAKE_C_COMPILER "${ZIG}" cc -target "${TARGET}")

# Programs are linked like shared libraries, so that the kernel may place them anywhere; nothing keeps symbols. What the C library of the target lacks is an error
# of the linker, in a shared library too.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(CMAKE_SYSTEM_NAME STREQUAL Windows)
  # The linker, LLVM's lld-link, would write the time into the file; it takes options from the variable LINK too, and zig passes no such one on.
  set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "\"${CMAKE_COMMAND}\" -E env LINK=/Brepro")
  # The stack that Linux gives.
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -Wl,--stack,8388608")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
elseif(CMAKE_SYSTEM_NAME STREQUAL Darwin)
  # What CMake would ask of Apple's own tools: zig brings the headers, and signs what it links.
  set(CMAKE_OSX_SYSROOT "")
  set(CMAKE_OSX_DEPLOYMENT_TARGET "")
  set(CMAKE_INSTALL_NAME_TOOL "${CMAKE_COMMAND}" -E true)
  set(CMAKE_INSTALL_NAME_DIR "@rpath")            # the folder of the build leaves no trace
  set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-s")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
else()
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-pie -s")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s -Wl,-z,defs")
endif()

# The machine's ar may not know the other machine's objects.
set(CMAKE_C_ARCHIVE_CREATE "\"${ZIG}\" ar rcsD <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
