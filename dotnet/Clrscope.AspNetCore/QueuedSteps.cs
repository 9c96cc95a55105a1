using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Clrscope.AspNetCore;

/// <summary>
/// What the context of an async method holds that waits in the queue of the thread pool. The runtime (8, 9, 10) keeps such a method in an object of its own, a Task
/// whose state is the ExecutionContext. Where a runtime has other names for the two fields, the answer is always null: the time in the queue then counts as waiting.
/// </summary>
internal static class QueuedSteps
{
    static Func<Task, object, object?>? s_value;

    public static void Prepare() => s_value = Make();

    public static object? ValueOf(object work, object local)
    {
        if (s_value is not { } value || work is not Task task) return null;
        try
        {
            return value(task, local);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            s_value = null; // the app is about to queue its work: nothing may leave
            return null;
        }
    }

    // (task, local) => (task.m_stateObject as ExecutionContext)?.m_localValues?.TryGetValue(local, out value), value
    static Func<Task, object, object?>? Make()
    {
        if (!RuntimeFeature.IsDynamicCodeSupported) return null;
        const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;
        var state = typeof(Task).GetField("m_stateObject", Hidden);
        var values = typeof(ExecutionContext).GetField("m_localValues", Hidden);
        var tryGet = values?.FieldType.GetMethod("TryGetValue");
        var key = tryGet?.GetParameters() is [{ } first, _] ? first.ParameterType : null;
        if (state is null || values is null || tryGet is null || key is null || !key.IsAssignableFrom(typeof(AsyncLocal<object>))) return null;
        var method = new DynamicMethod("clrscope_flow", typeof(object), [typeof(Task), typeof(object)], typeof(QueuedSteps).Module, skipVisibility: true);
        var il = method.GetILGenerator();
        var context = il.DeclareLocal(typeof(ExecutionContext));
        var value = il.DeclareLocal(typeof(object));
        var none = il.DefineLabel();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldfld, state);
        il.Emit(OpCodes.Isinst, typeof(ExecutionContext));
        il.Emit(OpCodes.Stloc, context);
        il.Emit(OpCodes.Ldloc, context);
        il.Emit(OpCodes.Brfalse, none);
        il.Emit(OpCodes.Ldloc, context);
        il.Emit(OpCodes.Ldfld, values);
        il.Emit(OpCodes.Brfalse, none);
        il.Emit(OpCodes.Ldloc, context);
        il.Emit(OpCodes.Ldfld, values);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Castclass, key);
        il.Emit(OpCodes.Ldloca, value);
        il.Emit(OpCodes.Callvirt, tryGet);
        il.Emit(OpCodes.Pop);
        il.MarkLabel(none);
        il.Emit(OpCodes.Ldloc, value);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<Task, object, object?>>();
    }
}
