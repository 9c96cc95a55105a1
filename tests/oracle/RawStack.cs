// The instruction pointers that came with an event, straight from the record that TraceEvent hands to its parsers.
//
// TraceEvent shows stacks only after a TraceLog conversion, which drops and rewrites events. The record itself
// carries them: an ETW EVENT_RECORD, whose layout Windows has fixed.

using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.InteropServices;
using Microsoft.Diagnostics.Tracing;

namespace Clrscope.Oracle;

internal static unsafe class RawStack
{
    private const int ExtendedDataCountOffset = 84;
    private const int ExtendedDataOffset = 88;
    private const ushort Stack32 = 5;
    private const ushort Stack64 = 6;

    [StructLayout(LayoutKind.Sequential)]
    private struct ExtendedItem
    {
        public ushort Reserved;
        public ushort Type;
        public ushort Flags;
        public ushort Size;
        public ulong Data;
    }

    private static readonly Func<TraceEvent, IntPtr> RecordOf = MakeRecordGetter();

    /// <summary>Leaf first; empty when the event has none, or TraceEvent discards it (README.md).</summary>
    public static ulong[] Of(TraceEvent data)
    {
        byte* record = (byte*)RecordOf(data);
        int count = *(ushort*)(record + ExtendedDataCountOffset);
        var items = *(ExtendedItem**)(record + ExtendedDataOffset);
        for (int i = 0; i < count; ++i)
        {
            ref ExtendedItem item = ref items[i];
            if (item.Type is not (Stack32 or Stack64) || item.Size < sizeof(ulong))
            {
                continue;
            }

            // A match id comes first, then the addresses.
            void* addresses = (byte*)item.Data + sizeof(ulong);
            int bytes = item.Size - sizeof(ulong);
            return item.Type == Stack64
                ? new ReadOnlySpan<ulong>(addresses, bytes / sizeof(ulong)).ToArray()
                : Array.ConvertAll(new ReadOnlySpan<uint>(addresses, bytes / sizeof(uint)).ToArray(), ip => (ulong)ip);
        }

        return [];
    }

    // The field's type is internal, so no C# expression can name it.
    private static Func<TraceEvent, IntPtr> MakeRecordGetter()
    {
        FieldInfo field = typeof(TraceEvent).GetField("eventRecord", BindingFlags.Instance | BindingFlags.NonPublic)
            ?? throw new MissingFieldException(nameof(TraceEvent), "eventRecord");
        var getter = new DynamicMethod("record_of", typeof(IntPtr), [typeof(TraceEvent)], typeof(TraceEvent).Module, true);
        ILGenerator il = getter.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldfld, field);
        il.Emit(OpCodes.Conv_I);
        il.Emit(OpCodes.Ret);
        return getter.CreateDelegate<Func<TraceEvent, IntPtr>>();
    }
}
