#include <stdio.h>
static int twice(int x) {
  return x * 2;
}
#line 100 "made/elsewhere.c"
int half(int x) {
  if (x > 10)
    return x / 2;
  return 0;
}
#line 14 "shop.c"
int main(int argc, char **argv) {
  printf("%d\n", twice(argc) + half(argc));
  return 0;
}
