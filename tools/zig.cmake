# A toolchain for CMake: zig's C compiler, which has the headers and libraries of each system it compiles for, so that the machine has no say in what comes out.
#
#   cmake -S . -B FOLDER -DCMAKE_TOOLCHAIN_FILE=tools/zig.cmake -DZIG=PROGRAM -DTARGET=aarch64-linux-musl -DPT2ONNX_ZLIB=FOLDER
#
# TARGET is zig's: x86_64-linux-gnu.2.17 is glibc 2.17. `tools/setup dist` installs zig, and tools/dist.py calls this.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG TARGET)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${TARGET}")
set(CMAKE_C_COMPILER "${ZIG}" cc -target "${TARGET}")

# Programs are linked like shared libraries, so that the kernel may place them anywhere; nothing keeps symbols. What the C library of the target lacks is an error
# of the linker, in a shared library too.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-pie -s")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s -Wl,-z,defs")

# The machine's ar may not know the other machine's objects.
set(CMAKE_C_ARCHIVE_CREATE "\"${ZIG}\" ar rcsD <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
