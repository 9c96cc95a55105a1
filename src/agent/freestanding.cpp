// The functions a compiler may call by itself, for the library that links no C library.
#ifdef CLRSCOPE_AGENT_LIBRARY
#include <cstddef>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size) {
  void* at = to;
  __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  void* at = to;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  if (target <= source || target >= source + size) return memcpy(to, from, size);
  while (size-- > 0) static_cast<volatile char*>(target)[size] = source[size];
  return to;
}

}  // extern "C"
#endif
