// Which line of a compiler's output is told.
#include "build/compiler_output.h"

#include <gtest/gtest.h>

namespace ferrule {
namespace {

TEST(CompilerOutput, TheLineThatSaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it printed nothing"},
      {"\n\n", "it printed nothing"},
      {"one\ntwo\n", "two"},
      {"source.cpp: In function 'int f()':\nsource.cpp:1:18: error: 'x' was not declared\n  1 | int\nsource.cpp:2: "
       "error: y",
       "source.cpp:1:18: error: 'x' was not declared"},
      {"source.cpp:1:10: fatal error: omp.h: No such file or directory\n    1 | #include <omp.h>\ncompilation "
       "terminated.\n",
       "source.cpp:1:10: fatal error: omp.h: No such file or directory"},
      {"source.cpp:1:1: warning: 'error: ' is text\nsource.cpp:2:2: error: it\n", "source.cpp:2:2: error: it"},
      {"g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
       "g++: fatal error: Killed signal terminated program cc1plus"},
      {"source.cpp:3:1: internal compiler error: Segmentation fault\nPlease submit a full bug report\n",
       "source.cpp:3:1: internal compiler error: Segmentation fault"},
      {"PLEASE submit a bug report to https://x\nStack dump:\nclang: error: clang frontend command failed with exit "
       "code "
       "139\n",
       "clang: error: clang frontend command failed with exit code 139"},
      {"{standard input}: Assembler messages:\n{standard input}: Fatal error: can't write 7 bytes to section .text: "
       "'No "
       "space left on device'\n",
       "{standard input}: Fatal error: can't write 7 bytes to section .text: 'No space left on device'"},
      {"/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status\n",
       "/usr/bin/ld: final link failed: No space left on device"},
      {"/usr/bin/ld: a.o: in function `f':\nsource.cpp:(.text+0x9): undefined reference to `g'\ncollect2: error: ld "
       "returned 1 exit status\n",
       "source.cpp:(.text+0x9): undefined reference to `g'"},
      {"/usr/bin/ld: b.o: in function `f()':\nb.cpp:(.text+0x0): multiple definition of `f()'; a.o: first defined "
       "here\ncollect2: error: ld returned 1 exit status\n",
       "b.cpp:(.text+0x0): multiple definition of `f()'; a.o: first defined here"},
      {"/usr/bin/ld: warning: x.o has no .note.GNU-stack\n/usr/bin/ld: cannot find -lnone: No such file or "
       "directory\nclang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
       "/usr/bin/ld: cannot find -lnone: No such file or directory"},
      {"ld.lld: error: undefined symbol: g\nclang: error: linker command failed with exit code 1\n",
       "ld.lld: error: undefined symbol: g"},
      {"collect2: error: ld returned 1 exit status\n", "collect2: error: ld returned 1 exit status"},
  };
  for (const auto& [output, line] : cases) EXPECT_EQ(first_error(output), line);
}

TEST(CompilerOutput, AnErrorInAHeaderNamesThePlaceThatLedThere) {
  EXPECT_EQ(first_error("In file included from /usr/include/c++/12/algorithm:61,\n                 from t.cpp:1:\n"
                        "/usr/include/algo.h: In instantiation of 'void sort()':\n"
                        "/usr/include/algo.h:4820:18:   required from 'void std::sort()'\n"
                        "t.cpp:3:39:   required from here\n"
                        "/usr/include/algo.h:1938:50: error: no match for 'operator-'\n"),
            "/usr/include/algo.h:1938:50: error: no match for 'operator-' (required from t.cpp:3:39)");
  EXPECT_EQ(first_error("/usr/include/algo.h:1938:22: error: invalid operands\n"
                        "/usr/include/algo.h:4820:12: note: in instantiation of function 'x' requested here\n"
                        "t.cpp:3:35: note: in instantiation of function 'y' requested here\n"
                        "t.cpp:9:9: error: another\n"
                        "other.cpp:1:1: note: in instantiation of function 'z' requested here\n"),
            "/usr/include/algo.h:1938:22: error: invalid operands (required from t.cpp:3:35)");
  EXPECT_EQ(
      first_error("t.cpp: In instantiation of 'void f()':\nt.cpp:7:3:   required from here\nt.cpp:2:9: error: no\n"),
      "t.cpp:2:9: error: no");
}

TEST(CompilerOutput, IsTextWithoutColours) {
  EXPECT_EQ(
      first_error(
          "\33[01m\33[Ka.cpp:1:1:\33[m\33[K \33[01;31m\33[Kerror: \33[m\33[Kwrong\t\33]8;;http://x\a[-W]\33]8;;\a\n"),
      "a.cpp:1:1: error: wrong [-W]");
  EXPECT_EQ(first_error("error: gr\xc3\xb6\xc3\x9f"
                        "e \xe2\x82\xac \xf0\x9f\x98\x80\r\n"),
            "error: gr\xc3\xb6\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(first_error("error: \xff \xc3[ \xe2\x82[ \xed\xa0\x80 \xc0\x80 \xf8 \xe2\x82"),
            "error: ? ?[ ??[ ??? ?? ? ??");
  EXPECT_EQ(first_error(std::string("error: a\0b\33", 11)), "error: ab");
}

TEST(CompilerOutput, IsShort) {
  std::string name;
  for (int i = 0; i < 100000; ++i) name += "\xc3\xb6";
  const std::string told = first_error("error: " + name);
  EXPECT_LT(told.size(), 700u);
  EXPECT_TRUE(told.ends_with("\xc3\xb6..."));
}

}  // namespace
}  // namespace ferrule
