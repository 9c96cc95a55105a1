using System.Reflection.Emit;
using System.Runtime;

namespace Samples.Symptoms;

/// <summary>Makes methods of one name while it runs, calls each once, and counts what the JIT compiler did meanwhile.</summary>
static class Compile
{
    const string MethodName = "Compiled";

    public static void Run(Stage stage)
    {
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
}
