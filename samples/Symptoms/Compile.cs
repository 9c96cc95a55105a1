using System.Reflection;
using System.Reflection.Emit;
using System.Runtime;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// Makes methods of one name while it runs, calls each once, and counts what the JIT compiler did meanwhile. With --assembly it compiles every method of the named
/// assemblies instead, and calls none.
/// </summary>
static class Compile
{
    const string MethodName = "Compiled";

    public static void Run(Stage stage)
    {
        if (stage.Options.Has("assembly"))
        {
            RunAll(stage, stage.Options.Text("assembly", ""));
            return;
        }
        var count = stage.Options.Int("count", 50);
        stage.Ready(new { methods = count, method = MethodName });
        stage.WaitForGo();
        var (before, timeBefore) = (JitInfo.GetCompiledMethodCount(), JitInfo.GetCompilationTime());
        long sum = 0;
        for (var number = 0; number < count; ++number) sum += Make(number)();
        var (after, time) = (JitInfo.GetCompiledMethodCount(), JitInfo.GetCompilationTime());
        stage.Done(new { methods = count, sum, compiled = after - before, compileMs = (time - timeBefore).TotalMilliseconds, processCompiled = after });
    }

    static Func<int> Make(int number)
    {
        var method = new DynamicMethod(MethodName, typeof(int), null);
        var code = method.GetILGenerator();
        code.Emit(OpCodes.Ldc_I4, number);
        code.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int>>();
    }

    static void RunAll(Stage stage, string names)
    {
        const BindingFlags All = BindingFlags.DeclaredOnly | BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
        var assemblies = names.Split(',').Select(Assembly.Load).ToList();
        stage.Ready(new { assemblies = assemblies.Count });
        stage.WaitForGo();
        var before = JitInfo.GetCompiledMethodCount();
        int prepared = 0, invalid = 0, refused = 0;
        var wrong = "";
        foreach (var type in assemblies.SelectMany(a => a.GetTypes()).Select(Closed).OfType<Type>())
        {
            foreach (var method in type.GetMethods(All).Select(Closed).OfType<MethodBase>().Concat(type.GetConstructors(All)))
            {
                if (method.IsAbstract || method.GetMethodBody() is null) continue;
                try
                {
                    RuntimeTypeHandle[] arguments = [.. type.GetGenericArguments().Concat(method.IsConstructor ? [] : method.GetGenericArguments()).Select(t => t.TypeHandle)];
                    RuntimeHelpers.PrepareMethod(method.MethodHandle, arguments.Length > 0 ? arguments : null);
                    ++prepared;
                }
                catch (InvalidProgramException)
                {
                    ++invalid;
                    wrong = $"{type.FullName}.{method.Name}";
                }
                catch (Exception)
                {
                    ++refused; // it names what this platform does not have
                }
            }
        }
        stage.Done(new { prepared, invalid, refused, wrong, compiled = JitInfo.GetCompiledMethodCount() - before });
    }

    // With type arguments that their constraints allow; null: neither of two does.
    static Type? Closed(Type type) => type.ContainsGenericParameters ? Close(type.GetGenericArguments().Length, type.MakeGenericType) : type;

    static MethodBase? Closed(MethodInfo method) => method.ContainsGenericParameters ? Close(method.GetGenericArguments().Length, method.MakeGenericMethod) : method;

    static T? Close<T>(int count, Func<Type[], T> make) where T : class
    {
        foreach (var argument in (Type[])[typeof(object), typeof(int)])
        {
            try
            {
                return make([.. Enumerable.Repeat(argument, count)]);
            }
            catch (Exception e) when (e is ArgumentException or TypeLoadException)
            {
            }
        }
        return null;
    }
}
