using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http.Features;

namespace Clrscope.AspNetCore;

/// <summary>
/// What Kestrel alone knows of a request, in fields that are not public (the same in .NET 8, 9 and 10). Where a version names them differently, or another server
/// answers, it is unknown. The features of a context of Kestrel are its connection (HTTP/1) or stream, which has these fields.
/// </summary>
internal static class KestrelRequest
{
    const string Owner = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol, Microsoft.AspNetCore.Server.Kestrel.Core";

    static Func<object, long>? s_sent;
    static Func<object, int>? s_aborted;

    /// <summary>Outside of requests: compiles.</summary>
    public static void Prepare()
    {
        if (s_sent is not null || !RuntimeFeature.IsDynamicCodeSupported || Type.GetType(Owner) is not { } owner) return;
        s_sent = MakeSent(owner);
        s_aborted = MakeAborted(owner);
    }

    /// <summary>How many bytes it has sent as the body of the answer: answers without Content-Length (JSON, streams) have it nowhere else. Null: unknown.</summary>
    public static ulong? SentBytes(IFeatureCollection features) => s_sent?.Invoke(features) is >= 0 and var sent ? (ulong)sent : null;

    /// <summary>Whether the client left before it had the answer. Unlike the RequestAborted of the context this makes no object. Null: unknown.</summary>
    public static bool? IsAborted(IFeatureCollection features) => s_aborted?.Invoke(features) is >= 0 and var aborted ? aborted != 0 : null;

    // features => features is HttpProtocol protocol ? protocol._responseBytesWritten : -1
    static Func<object, long>? MakeSent(Type owner)
    {
        if (Field(owner, "_responseBytesWritten", typeof(long)) is not { } sent) return null;
        var (method, il) = Begin("clrscope_sent_bytes", typeof(long), owner, out var other);
        Load(il, owner, sent);
        il.Emit(OpCodes.Ret);
        il.MarkLabel(other);
        il.Emit(OpCodes.Ldc_I4_M1);
        il.Emit(OpCodes.Conv_I8);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<object, long>>();
    }

    // features => features is HttpProtocol protocol ? protocol._connectionAborted && !protocol._preventRequestAbortedCancellation : -1
    // The second field is set when the last byte of the answer is written: a client that leaves after that has left nothing.
    static Func<object, int>? MakeAborted(Type owner)
    {
        if (Field(owner, "_connectionAborted", typeof(bool)) is not { } aborted ||
            Field(owner, "_preventRequestAbortedCancellation", typeof(bool)) is not { } complete) return null;
        var (method, il) = Begin("clrscope_is_aborted", typeof(int), owner, out var other);
        var no = il.DefineLabel();
        Load(il, owner, aborted);
        il.Emit(OpCodes.Brfalse, no);
        Load(il, owner, complete);
        il.Emit(OpCodes.Ldc_I4_0);
        il.Emit(OpCodes.Ceq);
        il.Emit(OpCodes.Ret);
        il.MarkLabel(no);
        il.Emit(OpCodes.Ldc_I4_0);
        il.Emit(OpCodes.Ret);
        il.MarkLabel(other);
        il.Emit(OpCodes.Ldc_I4_M1);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<object, int>>();
    }

    static FieldInfo? Field(Type owner, string name, Type type) =>
        owner.GetField(name, BindingFlags.Instance | BindingFlags.NonPublic) is { } field && field.FieldType == type ? field : null;

    static (DynamicMethod Method, ILGenerator Il) Begin(string name, Type result, Type owner, out Label other)
    {
        var method = new DynamicMethod(name, result, [typeof(object)], typeof(KestrelRequest).Module, skipVisibility: true);
        var il = method.GetILGenerator();
        other = il.DefineLabel();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Isinst, owner);
        il.Emit(OpCodes.Brfalse, other);
        return (method, il);
    }

    static void Load(ILGenerator il, Type owner, FieldInfo field)
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Castclass, owner);
        il.Emit(OpCodes.Ldfld, field);
    }
}
