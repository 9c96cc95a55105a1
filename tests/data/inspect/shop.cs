using System;
using System.Collections.Generic;
namespace Shop {
  public class Cart<T> {
    public class Line { public int Count; public string Name; public struct Part { public long A; } }
    List<T> items = new();
    public void Add(int count, string name, ref T item, List<Dictionary<string, T[]>> more) {}
    public static U Map<U>(Func<T, U> f, int[,] grid, params object[] rest) => default;
    public unsafe void Raw(int* p, delegate*<int, void> f, Line.Part part) {}
  }
  static class Program { static void Main() {} }
}
