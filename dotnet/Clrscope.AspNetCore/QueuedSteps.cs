using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Clrscope.AspNetCore;

/// <summary>
/// What the context of an async method holds that waits in the queue of the thread pool. The runtime (8, 9, 10) keeps such a method in an object of its own, a Task
/// whose state is the ExecutionContext. Where a runtime has other names for the two fields, the answer is always null: the time in the queue then counts as waiting. The context of other
/// tasks lies in properties of theirs; where these have other names, work that a plain method gives to the pool belongs to the request, not to the method.
/// </summary>
internal static class QueuedSteps
{
    static Func<Task, object, object?>? s_value;
    static Func<Task, ExecutionContext, ExecutionContext, bool>? s_exchange;

    public static void Prepare()
    {
        s_value = Make();
        s_exchange = MakeExchange();
    }

    /// <summary>Gives a task that has not begun another context, if it has the expected one.</summary>
    public static void Exchange(Task task, ExecutionContext expected, ExecutionContext other)
    {
        try
        {
            s_exchange?.Invoke(task, expected, other);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            s_exchange = null;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
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

    // (task, expected, other) => task.m_contingentProperties?.m_capturedContext == expected && assigns other
    static Func<Task, ExecutionContext, ExecutionContext, bool>? MakeExchange()
    {
        if (!RuntimeFeature.IsDynamicCodeSupported) return null;
        const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;
        var properties = typeof(Task).GetField("m_contingentProperties", Hidden);
        var captured = properties?.FieldType.GetField("m_capturedContext", Hidden);
        if (properties is null || captured?.FieldType != typeof(ExecutionContext)) return null;
        var method = new DynamicMethod("clrscope_exchange", typeof(bool), [typeof(Task), typeof(ExecutionContext), typeof(ExecutionContext)], typeof(QueuedSteps).Module, skipVisibility: true);
        var il = method.GetILGenerator();
        var none = il.DefineLabel();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldfld, properties);
        il.Emit(OpCodes.Brfalse, none);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldfld, properties);
        il.Emit(OpCodes.Ldfld, captured);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Bne_Un, none);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldfld, properties);
        il.Emit(OpCodes.Ldarg_2);
        il.Emit(OpCodes.Stfld, captured);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Ret);
        il.MarkLabel(none);
        il.Emit(OpCodes.Ldc_I4_0);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<Task, ExecutionContext, ExecutionContext, bool>>();
    }
}
