// Threads in odd places, for tests/e2e/contract_odd.case: handlers, filters, generics, code made at run time. Prints what is so, then waits.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Threading;

namespace Odd
{
    public class Boom<T> : Exception { }
    public struct Pair<TFirst, TSecond> { public TFirst First; public TSecond Second; }

    public class Outer<T>
    {
        public class Inner<U>
        {
            public void Block<V>(V value, Pair<int, string>[] pairs, ref long number, Func<T, U> map, int? maybe, int[,] grid) => Program.Wait();
        }
    }

    public static class Program
    {
        static readonly CountdownEvent Waiting = new(7);

        public static void Wait()
        {
            Waiting.Signal();
            Thread.Sleep(Timeout.Infinite);
        }

        static void InCatch()
        {
            try { throw new Boom<string>(); }
            catch (Boom<string>) { Wait(); }
        }

        static void InFinally()
        {
            try { Thread.Yield(); }
            finally { Wait(); }
        }

        static void InNested()
        {
            try { throw new Boom<int>(); }
            catch (Exception)
            {
                try { throw new InvalidOperationException(); }
                catch (InvalidOperationException) { Wait(); }
            }
        }

        static bool Filter() { Wait(); return true; }

        static void InFilter()
        {
            try { throw new Boom<object>(); }
            catch (Exception) when (Filter()) { }
        }

        static void Emit(ILGenerator code)
        {
            code.Emit(OpCodes.Call, typeof(Program).GetMethod("Wait"));
            code.Emit(OpCodes.Call, typeof(Program).GetMethod("Wait")); // else the first is a tail call, and its caller gone
            code.Emit(OpCodes.Ret);
        }

        static void InDynamicMethod()
        {
            var method = new DynamicMethod("Made", typeof(void), new[] { typeof(int), typeof(string) }, typeof(Program).Module, true);
            Emit(method.GetILGenerator());
            method.CreateDelegate<Action<int, string>>()(1, "");
        }

        static void InEmittedType()
        {
            var module = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Emitted"), AssemblyBuilderAccess.Run).DefineDynamicModule("Emitted");
            var type = module.DefineType("Emitted.Type", TypeAttributes.Public);
            Emit(type.DefineMethod("Go", MethodAttributes.Public | MethodAttributes.Static, typeof(void), new[] { typeof(string) }).GetILGenerator());
            type.CreateType().GetMethod("Go").CreateDelegate<Action<string>>()("");
        }

        static void InGenerics()
        {
            long number = 0;
            new Outer<string>.Inner<int>().Block(DateTime.Now, null, ref number, null, null, null);
        }

        static readonly List<string> Truth = new();

        static void Start(string name, Action action, string method, string exception = "")
        {
            Truth.Add($"{{\"name\":\"{name}\",\"method\":\"{method}\",\"exception\":\"{exception}\"}}");
            new Thread(() => action()) { Name = name, IsBackground = true }.Start();
        }

        static void Main()
        {
            Start("catch", InCatch, "Odd.Program.InCatch()", "Odd.Boom`1[System.String]");
            Start("finally", InFinally, "Odd.Program.InFinally()");
            Start("nested", InNested, "Odd.Program.InNested()", "System.InvalidOperationException");
            Start("filter", InFilter, "Odd.Program.Filter()", "Odd.Boom`1[System.Object]");
            Start("dynamic", InDynamicMethod, "dynamicClass.Made(int, string)");
            Start("emitted", InEmittedType, "Emitted.Type.Go(string)");
            Start("generics", InGenerics, "Odd.Outer`1+Inner`1[System.__Canon,System.Int32].Block(!!0, Odd.Pair`2<int,string>[], long&, " +
                "System.Func`2<!0,!1>, System.Nullable`1<int>, int[,])");
            Waiting.Wait();
            var dead = new Thread(() => { }) { Name = "dead" };
            dead.Start();
            dead.Join();
            var unstarted = new Thread(() => { }) { Name = "unstarted" };
            Console.WriteLine($"{{\"ready\":true,\"pid\":{Environment.ProcessId},\"truth\":{{\"threads\":[{string.Join(",", Truth)}]}}}}");
            Thread.Sleep(Timeout.Infinite);
            GC.KeepAlive(dead);
            GC.KeepAlive(unstarted);
        }
    }
}
